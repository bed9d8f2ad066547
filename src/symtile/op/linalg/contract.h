// Helpers shared by operators that multiply and add: accumulation types and broadcast batch axes.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

/// The dtype a sum is kept in: f32 for the 16-bit floats, else the dtype itself.
inline DType accumulation_type(DType t) {
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
}

inline bool is_number(DType t) { return is_float(t) || is_int(t); }

/// Index along a broadcast axis of extent `dim` where the result has extent `out`: 0 for an
/// extent of 1, `i` for an equal extent, and min(i, dim - 1), which is right in both cases,
/// when it is not known which of the two holds.
Expr broadcast_index(const Facts& facts, const DimExpr& dim, const DimExpr& out, const Expr& i);

/// Loads x at the trailing axes of `index` (numpy alignment) against the extents `out`.
Expr load_aligned(const Facts& facts, const TensorRef& x, const Index& index, const Dims& out);

/// The extents without the last two.
Dims batch_dims(const Dims& dims);

}  // namespace symtile
