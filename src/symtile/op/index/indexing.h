// Helpers shared by the operators that move elements by position: flat offsets for the reference
// meaning, and run-time indices that stay in bounds for the lowering.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

/// Position in row-major data: the inner product of index and strides.
int64_t flat_offset(const std::vector<int64_t>& index, const std::vector<int64_t>& strides);

/// The positions 0 <= p < extent that `index` names (negative: from the end); bad_input when there
/// is none.
int64_t resolve_index(const EvalContext& c, int64_t index, int64_t extent);

/// A run-time index of any integer dtype as an i64 position: negative ones count from the end, and
/// what is still out of range is clamped, so that no kernel touches memory outside the tensor.
Expr wrap_index(Expr index, const DimExpr& extent);

/// `value`, or zero when one of the extents is 0, for loads whose index was clamped into an extent
/// that may be empty. Nothing when the extents are provably positive.
Expr unless_empty(const LowerContext& c, const Dims& extents, Expr value);

/// Loops `for 0 <= var < extent` around `body`, outermost axis first. The first one is parallel
/// when `parallel`; the others are serial.
Stmt loop_nest(const std::vector<Axis>& axes, bool parallel, Stmt body);

/// The variables of axes made by LowerContext::axis.
Index variables(const std::vector<Axis>& axes);

bool is_index_dtype(DType t);

/// An axis attribute as a position from the front.
inline size_t axis_attr(const Attributes& attrs, int rank, const char* name = "axis",
                        int64_t fallback = 0) {
  const int64_t axis = attrs.get_int(name, fallback);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

/// Requires that the formula `violation` (>= 0 by construction) is 0: nothing when proved,
/// a run-time check otherwise.
void require_zero(DeduceContext& c, const DimExpr& violation, const std::string& message);

/// Single formula of a `dims` attribute with one element.
inline const DimExpr& single_dim(const Attributes& attrs, std::string_view name) {
  return attrs.get_dims(name).at(0);
}

}  // namespace symtile
