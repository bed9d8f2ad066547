// Trilu: the diagonal is an optional input.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_trilu(ImportContext& c) {
  const DimExpr k = c.has(1) ? require_simple_dims(c, 1).at(0) : DimExpr(0);
  c.out(0, c.call("trilu", {c.in(0)}, {{"k", Dims{k}}, {"upper", c.attr_int("upper", 1)}}));
}

}  // namespace symtile::onnx_import
