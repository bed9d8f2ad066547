// HannWindow, HammingWindow, BlackmanWindow: a sum of cosines of 2 pi n / N, where N is the size
// for a periodic window and size - 1 for a symmetric one. MelWeightMatrix is a core operator.
#include <cmath>
#include <numbers>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

/// a[0] + a[1] cos(x) + a[2] cos(2 x)
void cosine_window(ImportContext& c, const std::vector<double>& a) {
  const Dims size = c.require_dims(0);
  if (size.size() != 1) c.fail(DiagId::bad_attribute, "the size must have one element");
  const DType dtype = c.attr_dtype("output_datatype", DType::f32);
  // A symmetric window of one element would divide by zero.
  const DimExpr period = c.attr_int("periodic", 1) != 0 ? size[0] : max(size[0] - 1, 1);
  const auto n = size[0].as_const();
  if (n) {
    if (*n < 0) c.fail(DiagId::bad_attribute, "the size is negative: {}", *n);
    const auto data = make_zeros(dtype, {*n});
    for (int64_t i = 0; i < *n; ++i) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(*period.as_const());
      double value = 0;
      for (size_t k = 0; k < a.size(); ++k)
        value += a[k] * std::cos(angle * static_cast<double>(k));
      data->set(i, value);
    }
    c.out(0, c.build().constant(data));
    return;
  }
  OpBuilder& b = c.build();
  const ValueId index = c.call("range", {b.scalar(DType::i64, 0), b.scalar(DType::i64, 1)},
                               {{"length", Dims{size[0]}}});
  const ValueId turns = c.call(
      "div",
      {c.cast(index, DType::f32), c.cast(b.dims_tensor({period}, DType::i64, true), DType::f32)});
  ValueId sum = b.scalar(DType::f32, a[0]);
  for (size_t k = 1; k < a.size(); ++k) {
    const double speed = 2 * std::numbers::pi * static_cast<double>(k);
    const ValueId wave = c.call("cos", {c.call("mul", {turns, b.scalar(DType::f32, speed)})});
    sum = c.call("add", {sum, c.call("mul", {wave, b.scalar(DType::f32, a[k])})});
  }
  c.out(0, c.cast(sum, dtype));
}

/// A one-element input as an f64 scalar.
ValueId real_scalar(ImportContext& c, int i) { return c.cast(c.reshape(c.in(i), {}), DType::f64); }

}  // namespace

void import_hann_window(ImportContext& c) { cosine_window(c, {0.5, -0.5}); }

void import_hamming_window(ImportContext& c) {
  cosine_window(c, {25.0 / 46.0, -(1 - 25.0 / 46.0)});
}

void import_blackman_window(ImportContext& c) { cosine_window(c, {0.42, -0.5, 0.08}); }

void import_mel_weight_matrix(ImportContext& c) {
  const Dims bands = c.require_dims(0), length = c.require_dims(1);
  const ValueId matrix =
      c.call("mel_weight_matrix", {real_scalar(c, 2), real_scalar(c, 3), real_scalar(c, 4)},
             {{"bands", bands}, {"length", length}});
  c.out(0, c.cast(matrix, c.attr_dtype("output_datatype", DType::f32)));
}

}  // namespace symtile::onnx_import
