// HannWindow, HammingWindow, BlackmanWindow: a sum of cosines of 2 pi n / N, where N is the size for a
// periodic window and size - 1 for a symmetric one. MelWeightMatrix: triangular filters on the mel
// scale, computed at import.
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
  const DimExpr period =
      c.attr_int("periodic", 1) != 0 ? size[0] : max(size[0] - 1, 1);
  const auto n = size[0].as_const();
  if (n) {
    if (*n < 0) c.fail(DiagId::bad_attribute, "the size is negative: {}", *n);
    const auto data = make_zeros(dtype, {*n});
    for (int64_t i = 0; i < *n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) /
                           static_cast<double>(*period.as_const());
      double value = 0;
      for (size_t k = 0; k < a.size(); ++k) value += a[k] * std::cos(angle * static_cast<double>(k));
      data->set(i, value);
    }
    c.out(0, c.build().constant(data));
    return;
  }
  OpBuilder& b = c.build();
  const ValueId index = c.call("range", {b.scalar(DType::i64, 0), b.scalar(DType::i64, 1)},
                               {{"length", Dims{size[0]}}});
  const ValueId turns = c.call("div", {c.cast(index, DType::f32),
                                       c.cast(b.dims_tensor({period}, DType::i64, true), DType::f32)});
  ValueId sum = b.scalar(DType::f32, a[0]);
  for (size_t k = 1; k < a.size(); ++k) {
    const double speed = 2 * std::numbers::pi * static_cast<double>(k);
    const ValueId wave = c.call("cos", {c.call("mul", {turns, b.scalar(DType::f32, speed)})});
    sum = c.call("add", {sum, c.call("mul", {wave, b.scalar(DType::f32, a[k])})});
  }
  c.out(0, c.cast(sum, dtype));
}

double scalar_input(ImportContext& c, int i, const char* name) {
  const Constant data = c.constant(i);
  if (!data) c.fail(DiagId::unsupported, "{} that is not a constant", name);
  if (data->element_count() != 1) c.fail(DiagId::bad_attribute, "{} must have one element", name);
  return data->as_double(0);
}

}  // namespace

void import_hann_window(ImportContext& c) { cosine_window(c, {0.5, -0.5}); }

void import_hamming_window(ImportContext& c) {
  cosine_window(c, {25.0 / 46.0, -(1 - 25.0 / 46.0)});
}

void import_blackman_window(ImportContext& c) { cosine_window(c, {0.42, -0.5, 0.08}); }

void import_mel_weight_matrix(ImportContext& c) {
  const auto bands = static_cast<int64_t>(scalar_input(c, 0, "num_mel_bins"));
  const auto length = static_cast<int64_t>(scalar_input(c, 1, "dft_length"));
  const double rate = scalar_input(c, 2, "sample_rate");
  const double low = scalar_input(c, 3, "lower_edge_hertz");
  const double high = scalar_input(c, 4, "upper_edge_hertz");
  const int64_t limit = int64_t{1} << 24;
  if (bands < 0 || length < 0 || bands > limit || length > limit || !(rate > 0)) {
    c.fail(DiagId::bad_attribute, "{} mel bins, dft_length {}, sample_rate {}", bands, length, rate);
  }
  const int64_t bins = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  // The spectrogram bin at the edge of each band.
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / rate);
    if (!(bin >= 0 && bin < static_cast<double>(bins))) {
      c.fail(DiagId::bad_attribute, "band edge {} Hz lies outside the spectrum", hertz);
    }
    edges.push_back(static_cast<int64_t>(bin));
  }
  const auto matrix = make_zeros(c.attr_dtype("output_datatype", DType::f32), {bins, bands});
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t left = edges[static_cast<size_t>(i)], centre = edges[static_cast<size_t>(i + 1)];
    const int64_t right = edges[static_cast<size_t>(i + 2)];
    for (int64_t j = left; j < centre; ++j) {
      matrix->set(j * bands + i,
                  static_cast<double>(j - left) / static_cast<double>(centre - left));
    }
    matrix->set(centre * bands + i, 1);
    for (int64_t j = centre; j < right; ++j) {
      matrix->set(j * bands + i,
                  static_cast<double>(right - j) / static_cast<double>(right - centre));
    }
  }
  c.out(0, c.build().constant(matrix));
}

}  // namespace symtile::onnx_import
