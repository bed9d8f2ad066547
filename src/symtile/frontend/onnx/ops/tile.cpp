// Tile.
#include <algorithm>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_tile(ImportContext& c) {
  Dims repeats = require_simple_dims(c, 1);
  const bool nothing =
      std::all_of(repeats.begin(), repeats.end(), [](const DimExpr& r) { return r.is_const(1); });
  c.out(0, nothing ? c.in(0) : c.call("tile", {c.in(0)}, {{"repeats", std::move(repeats)}}));
}

}  // namespace symtile::onnx_import
