// The last step of quantised operators: i32 sums to an 8-bit tensor.
#pragma once

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

/// saturate(round_half_even(sum * scale / y_scale) + y_zero_point). `scale` is the product of the
/// operands' scales, broadcastable to `sum`; an absent zero point counts as 0 of dtype `fallback`.
ValueId requantize(ImportContext& c, ValueId sum, ValueId scale, ValueId y_scale,
                   ValueId y_zero_point, DType fallback);

/// True when `id` is absent or a constant whose elements are all zero: it need not be taken off.
bool is_zero_point_zero(ImportContext& c, ValueId id);

/// A vector of one element as a scalar, others unchanged.
ValueId scalar_if_single(ImportContext& c, ValueId x);

/// A per-row parameter of a matrix operand: (m) becomes (m, 1), a vector of one
/// element becomes a scalar, the rest stays.
ValueId as_column(ImportContext& c, ValueId x);

}  // namespace symtile::onnx_import
