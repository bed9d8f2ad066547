// PRelu: from version 7 the slope broadcasts to the input as in numpy; before, a slope of one
// dimension has one value a channel (axis 1).
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_prelu(ImportContext& c) {
  ValueId slope = c.in(1);
  if (c.opset() < 7 && c.rank(1) == 1 && c.rank(0) > 2 && !c.dims(1)[0].is_const(1)) {
    Dims dims(static_cast<size_t>(c.rank(0) - 1), DimExpr(1));
    dims[0] = c.dims(1)[0];
    slope = c.reshape(slope, std::move(dims));
  }
  c.out(0, c.call("prelu", {c.in(0), slope}));
}

}  // namespace symtile::onnx_import
