// The Fourier transform as importers build it.
#pragma once

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

/// Transform of `x` (..., 1 or 2) along `axis`: a matmul with a constant matrix when the extents
/// are constant and it stays small, else the core operator dft.
ValueId fourier(ImportContext& c, ValueId x, int axis, const DimExpr& length, bool inverse,
                bool onesided);

}  // namespace symtile::onnx_import
