// Several tile functions in compute form as one: their stages in order, results in between as
// temporaries (Relax FuseTIR). Symbols of the callees become formulas of the caller's.
#pragma once

#include <set>

#include "symtile/transform/tile/access.h"

namespace symtile {

/// A call in the caller's terms: kernel, the values it reads and the one it makes, its symbols.
struct KernelCall {
  const TileFunction* kernel;
  std::vector<int32_t> args;
  int32_t result;
  std::vector<DimExpr> dims;
};

struct MergedKernel {
  TileFunction function;
  std::vector<int32_t> args;  ///< the values that its inputs stand for
};

/// Merges `calls`, in order; the merged function's results are those of the calls that `results`
/// names. `facts` are the caller's. Stages that need no temporary are inlined.
MergedKernel merge_kernels(const std::vector<KernelCall>& calls, const std::set<int32_t>& results,
                           const Facts& facts);

/// Replaces input `position` by an immediate of its only element.
void replace_input(TileFunction& function, size_t position, const Expr& immediate);

}  // namespace symtile
