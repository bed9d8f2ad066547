// Decides whether a loop can run as SIMD lanes, without touching LLVM.
//
// Every lane runs one iteration. Values are uniform (the same in all lanes) or varying. A loop
// qualifies when all control flow but `if` is uniform, when each buffer allocated inside can get
// a copy per lane, and when every varying value stored at a uniform place is a reduction
// `b[i] = b[i] op x`. A loop that does not qualify runs serially: that is always correct.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "symtile/ir/tile.h"

namespace symtile::codegen {

/// A buffer that receives reductions over the lanes.
struct LaneReduction {
  BinaryOp op = BinaryOp::add;
  DType dtype = DType::f32;
  std::vector<Expr> indices;  ///< of the first store
  bool single_place = true;   ///< every store has the same indices, fixed during the loop
};

/// An operand `var + rest` (rest fixed during the loop) that the body divides by `divisor`, also
/// fixed. Between two multiples of the divisor the quotient is uniform and the remainder linear,
/// so the loop is cut there: what reshapes and merged axes need.
struct LaneDivision {
  Expr dividend, divisor;
};

struct VectorPlan {
  bool possible = false;
  int element_bytes = 1;    ///< widest element loaded or stored (index arithmetic aside)
  int narrowest_bytes = 8;  ///< narrowest one
  int cost = 0;             ///< scalar operations a lane executes, roughly
  bool has_loops = false;
  std::map<std::string, LaneReduction> reductions;
  std::vector<LaneDivision> divisions;
};

VectorPlan plan_vector_loop(const ForStmt& loop);

/// `b[i] = b[i] op x`: op and x, if `s` has that form.
struct ReductionUpdate {
  BinaryOp op;
  Expr value;
};
std::optional<ReductionUpdate> match_reduction(const StoreStmt& s);

/// True when `e` reads the buffer.
bool reads_buffer(const Expr& e, const std::string& buffer);

}  // namespace symtile::codegen
