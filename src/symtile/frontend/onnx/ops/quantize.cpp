// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

namespace {

Attributes scale_attrs(ImportContext& c) {
  Attributes attrs;
  if (c.opset() >= 13) attrs.set("axis", c.attr_int("axis", 1));
  if (c.opset() >= 21) attrs.set("block_size", c.attr_int("block_size", 0));
  return attrs;
}

std::vector<ValueId> scale_args(ImportContext& c) {
  std::vector<ValueId> args = {c.in(0), c.in(1)};
  if (c.has(2)) args.push_back(c.in(2));
  return args;
}

}  // namespace

void import_quantize_linear(ImportContext& c) {
  Attributes attrs = scale_attrs(c);
  const bool named = c.attr_int("output_dtype", 0) != 0;
  attrs.set("to", c.has(2) ? c.dtype(2)
                  : named  ? c.attr_dtype("output_dtype", DType::u8)
                           : DType::u8);
  c.out(0, c.call("quantize_linear", scale_args(c), std::move(attrs)));
}

void import_dequantize_linear(ImportContext& c) {
  const ValueId y = c.call("dequantize_linear", scale_args(c), scale_attrs(c));
  const bool named = c.attr_int("output_dtype", 0) != 0;
  c.out(0, named ? c.cast(y, c.attr_dtype("output_dtype", DType::f32)) : y);
}

void import_dynamic_quantize_linear(ImportContext& c) {
  const ValueId x = c.in(0);
  const Attributes all = {{"keepdims", int64_t{0}}};
  const ValueId zero = c.scalar_like(x, 0), top = c.scalar_like(x, 255);
  // The range includes 0, so that 0 is exact.
  const ValueId high = c.call("max", {c.call("reduce_max", {x}, all), zero});
  const ValueId low = c.call("min", {c.call("reduce_min", {x}, all), zero});
  const ValueId scale = c.call("div", {c.call("sub", {high, low}), top});
  const ValueId offset = c.call("sub", {zero, c.call("div", {low, scale})});
  const ValueId rounded = c.call("round", {c.call("clip", {offset, zero, top})});
  const ValueId zero_point = c.cast(rounded, DType::u8);
  c.out(0, c.call("quantize_linear", {x, scale, zero_point}, {{"to", DType::u8}}));
  if (c.wants(1)) c.out(1, scale);
  if (c.wants(2)) c.out(2, zero_point);
}

}  // namespace symtile::onnx_import
