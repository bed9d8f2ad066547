#include "symtile/frontend/onnx/ops/requantize.h"

namespace symtile::onnx_import {

ValueId requantize(ImportContext& c, ValueId sum, ValueId scale, ValueId y_scale,
                   ValueId y_zero_point, DType fallback) {
  const DType out = y_zero_point.valid() ? c.build().type(y_zero_point).dtype : fallback;
  const ValueId multiplier = c.cast(c.call("div", {scale, y_scale}), DType::f32);
  ValueId y = c.call("round", {c.call("mul", {c.cast(sum, DType::f32), multiplier})});
  if (y_zero_point.valid()) y = c.call("add", {y, c.cast(y_zero_point, DType::f32)});
  const double low = out == DType::i8 ? -128 : 0, high = out == DType::i8 ? 127 : 255;
  y = c.call("max", {y, c.scalar_like(y, low)});
  y = c.call("min", {y, c.scalar_like(y, high)});
  return c.cast(y, out);
}

bool is_zero_point_zero(ImportContext& c, ValueId id) {
  if (!id.valid()) return true;
  const Constant data = c.build().constant_of(id);
  if (!data) return false;
  for (int64_t i = 0; i < data->element_count(); ++i) {
    if (data->as_int(i) != 0) return false;
  }
  return true;
}

ValueId scalar_if_single(ImportContext& c, ValueId x) {
  if (!x.valid()) return x;
  const Type& type = c.build().type(x);
  return type.has_rank() && type.rank() == 1 && (*type.dims)[0].is_const(1) ? c.reshape(x, {}) : x;
}

ValueId as_column(ImportContext& c, ValueId x) {
  if (!x.valid()) return x;
  const Type& type = c.build().type(x);
  if (!type.has_rank() || type.rank() != 1) return x;
  return (*type.dims)[0].is_const(1) ? c.reshape(x, {}) : c.unsqueeze(x, {1});
}

}  // namespace symtile::onnx_import
