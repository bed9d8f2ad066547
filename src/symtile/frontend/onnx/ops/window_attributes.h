// Strides, dilations and padding of ONNX Conv, pooling and their relatives as core attributes.
#pragma once

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

/// The attributes strides, dilations, pads and (when set) ceil_mode. auto_pad is resolved to
/// formulas: SAME_* gives ceil(in / stride) windows and splits the padding evenly, an odd one out
/// at the end (UPPER) or the beginning (LOWER); VALID pads nothing and ignores ceil_mode.
/// `kernel` holds the extents of the window on the spatial axes of input 0.
Attributes window_attributes(ImportContext& c, const Dims& kernel);

/// The attribute kernel_shape, which pooling requires.
std::vector<int64_t> required_kernel(ImportContext& c);

/// Splits the total padding of one axis for SAME_UPPER or SAME_LOWER: (begin, end).
std::pair<DimExpr, DimExpr> split_padding(const DimExpr& total, bool upper);

}  // namespace symtile::onnx_import
