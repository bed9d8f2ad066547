// Pad and CenterCropPad.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_pad(ImportContext& c) {
  const int rank = c.rank(0);
  const std::string mode = c.attr_text("mode", "constant");
  Dims given;
  std::vector<int64_t> axes;
  ValueId value;
  if (c.opset() < 11) {
    for (int64_t p : c.attr_ints("pads", {})) given.emplace_back(p);
    const double fill = c.attr_float("value", 0);
    if (mode == "constant" && fill != 0) value = c.scalar_like(c.in(0), fill);
  } else {
    given = require_simple_dims(c, 1);
    if (mode == "constant") value = c.in_or_none(2);
    if (c.has(3)) axes = c.require_ints(3, "the axes");
  }
  if (axes.empty()) {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  if (given.size() != 2 * axes.size()) {
    c.fail(DiagId::bad_attribute, "{} pads for {} axes", given.size(), axes.size());
  }
  Dims pads(static_cast<size_t>(2 * rank), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto d = static_cast<size_t>(c.normalize_axis(axes[k], rank));
    pads[d] = given[k];
    pads[d + static_cast<size_t>(rank)] = given[k + axes.size()];
  }
  std::vector<ValueId> args = {c.in(0)};
  if (value.valid()) args.push_back(value);
  c.out(0, c.call("pad", std::move(args), {{"mode", mode}, {"pads", pads}}));
}

void import_center_crop_pad(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const int rank = static_cast<int>(in.size());
  const Dims shape = require_simple_dims(c, 1);
  std::vector<int64_t> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  axes = c.attr_ints("axes", axes);
  if (shape.size() != axes.size()) {
    c.fail(DiagId::bad_attribute, "{} dimensions for {} axes", shape.size(), axes.size());
  }
  // Cropping is a negative pad; both round the part before down.
  Dims pads(static_cast<size_t>(2 * rank), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto d = static_cast<size_t>(c.normalize_axis(axes[k], rank));
    const DimExpr more = shape[k] - in[d];
    pads[d] = c.facts().simplify(floordiv(max(more, 0), 2) - floordiv(max(-more, 0), 2));
    pads[d + static_cast<size_t>(rank)] = c.facts().simplify(more - pads[d]);
  }
  c.out(0, c.call("pad", {x}, {{"mode", std::string("constant")}, {"pads", pads}}));
}

}  // namespace symtile::onnx_import
