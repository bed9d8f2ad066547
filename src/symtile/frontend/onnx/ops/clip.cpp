// Clip: bounds are attributes before opset 11, optional scalar inputs from then on.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_clip(ImportContext& c) {
  const ValueId x = c.in(0);
  std::vector<ValueId> args = {x};
  if (c.opset() < 11) {
    const bool low = c.has_attr("min"), high = c.has_attr("max");
    if (low || high) args.push_back(low ? c.scalar_like(x, c.attr_float("min", 0)) : ValueId{});
    if (high) args.push_back(c.scalar_like(x, c.attr_float("max", 0)));
  } else {
    args.push_back(c.in_or_none(1));
    args.push_back(c.in_or_none(2));
    while (!args.back().valid()) args.pop_back();
  }
  c.out(0, args.size() == 1 ? x : c.call("clip", std::move(args)));
}

}  // namespace symtile::onnx_import
