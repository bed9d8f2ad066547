// Where every value of a planned module lives and what that costs: `symtile inspect --memory`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symtile/ir/module.h"

namespace symtile {

struct MemoryRow {
  std::string value;
  std::string type;
  std::string placement;          ///< "arena at 4*n", "in place of x", "view of x", "heap"
  std::optional<DimExpr> bytes;   ///< none: only a run can tell
  std::optional<int64_t> number;  ///< `bytes` at the given dimensions
};

/// Of the entry function, for one run. Inputs and constants are not among the rows.
struct MemoryReport {
  DimExpr arena;
  DimExpr intermediates;  ///< what all computed values would take, each in memory of its own
  std::optional<int64_t> arena_number, intermediates_number;
  int64_t constant_bytes = 0;
  int unknown = 0;  ///< computed values without a formula, not in `intermediates`
  std::vector<MemoryRow> rows;
};

/// Expects a module after plan_memory. Without `dims` only constants are numbers.
MemoryReport memory_report(const Module& module, const std::optional<DimValues>& dims);

}  // namespace symtile
