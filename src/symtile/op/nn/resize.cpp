// resize(x, roi?, scales?): resamples every axis of x to the extents `sizes` by nearest, linear or
// cubic interpolation, one axis at a time. Positions come from `scales` (an attribute, or a
// run-time tensor) or else from the ratio of the extents; taps outside the input repeat its edge.
// Spec: ONNX Resize-19 (and tf_half_pixel_for_nn of 11) and its reference implementation; importers
// resolve scales to `sizes`.
#include "symtile/op/nn/resize.h"

#include <algorithm>
#include <cmath>

#include "symtile/op/nn/sample.h"

namespace symtile {

Fraction fraction_from_scale(double scale) {
  const auto value = static_cast<float>(scale);
  if (!(value >= 0x1p-30f && value <= 0x1p30f)) {
    fail(DiagId::bad_attribute, {}, "scale {} is not between 2^-30 and 2^30", scale);
  }
  // Continued fraction of the value until it rounds to the same float.
  double rest = value;
  int64_t num = 1, den = 0, last_num = 0, last_den = 1;
  for (;;) {
    const double whole = std::floor(rest);
    const auto digit = static_cast<int64_t>(whole);
    const int64_t next_num = digit * num + last_num, next_den = digit * den + last_den;
    last_num = num, last_den = den, num = next_num, den = next_den;
    if (den > 4096) break;
    if (static_cast<float>(static_cast<double>(num) / static_cast<double>(den)) == value) {
      return {num, den};
    }
    if (rest == whole) break;
    rest = 1 / (rest - whole);
  }
  // No simple fraction: the float itself is mantissa * 2^exponent.
  int exponent = 0;
  auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 24));
  exponent -= 24;
  while (mantissa % 2 == 0 && exponent < 0) mantissa /= 2, ++exponent;
  return exponent >= 0 ? Fraction{mantissa << exponent, 1}
                       : Fraction{mantissa, int64_t{1} << std::min(-exponent, 62)};
}

DimExpr scaled_extent(const DimExpr& extent, double scale) {
  const Fraction f = fraction_from_scale(scale);
  return floordiv(extent * f.num, f.den);
}

ResizeSpec::ResizeSpec(const Attributes& attrs)
    : mode(attrs.get_text("mode", "nearest")),
      coordinate_mode(attrs.get_text("coordinate_mode", "half_pixel")),
      nearest_mode(attrs.get_text("nearest_mode", "round_prefer_floor")),
      cubic_a(attrs.get_float("cubic_coeff_a", -0.75)),
      extrapolation(attrs.get_float("extrapolation_value", 0)),
      exclude_outside(attrs.get_bool("exclude_outside", false)),
      antialias(attrs.get_bool("antialias", false)) {
  if (attrs.has("scales")) scales = attrs.get_floats("scales");
}

namespace {

void require_one_of(DeduceContext& c, const char* name, const std::string& value,
                    std::initializer_list<const char*> allowed) {
  const auto same = [&](const char* a) { return value == a; };
  if (std::none_of(allowed.begin(), allowed.end(), same)) {
    c.fail(DiagId::bad_attribute, "{} '{}' is not one of: {}", name, value,
           fmt::join(allowed, ", "));
  }
}

std::vector<Type> deduce(DeduceContext& c) {
  const ResizeSpec spec(c.attrs());
  require_one_of(c, "mode", spec.mode, {"nearest", "linear", "cubic"});
  require_one_of(c, "coordinate_mode", spec.coordinate_mode,
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                  "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  require_one_of(c, "nearest_mode", spec.nearest_mode,
                 {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"});
  const Dims& sizes = c.attrs().get_dims("sizes");
  const int rank = static_cast<int>(sizes.size());
  c.require_rank(0, rank, rank);
  if (!spec.scales.empty() && spec.scales.size() != sizes.size()) {
    c.fail(DiagId::bad_attribute, "{} scales for {} axes", spec.scales.size(), rank);
  }
  for (const double s : spec.scales) fraction_from_scale(s);
  for (const int i : {kResizeRoi, kResizeScales}) {
    if (!c.has(i)) continue;
    c.require_dtype(i, [](DType t) { return t == DType::f32; }, "f32");
    c.require_rank(i, 1, 1);
    if (c.rank_known(i)) {
      c.require_equal(c.dims(i)[0], i == kResizeRoi ? 2 * rank : rank,
                      "the length of roi or scales");
    }
  }
  if (spec.is_crop() && !c.has(kResizeRoi)) {
    c.fail(DiagId::bad_attribute, "tf_crop_and_resize needs a region of interest");
  }
  if (spec.antialias && c.has(kResizeScales)) {
    c.fail(DiagId::unsupported, "antialias with scales that are only known at run time");
  }
  for (int axis = 0; c.rank_known(0) && axis < rank; ++axis) {
    const DimExpr &in = c.dims(0)[static_cast<size_t>(axis)],
                  &out = sizes[static_cast<size_t>(axis)];
    if (in.is_unknown() || out.is_unknown() || c.facts().proves_le(1, in)) continue;
    // Nothing can be read from an empty axis. Extents in proportion are empty together.
    if (c.facts().proves_le(out, in * 64)) continue;
    c.checks.push_back({max(min(out, 1) - min(in, 1), 0), 0,
                        fmt::format("operator 'resize': axis {} is empty and cannot grow", axis)});
  }
  return {Type::tensor(sizes, c.dtype(0))};
}

/// One axis of the reference: positions and weights in double precision.
struct AxisSampler {
  const ResizeSpec& spec;
  double in, out, scale_num, scale_den;  ///< scale = scale_num / scale_den
  double roi_begin, roi_end;

  double position(double i) const {
    // Written as one division each, so that halves, which nearest must tell apart, are exact.
    const double p = scale_num, q = scale_den, width = in * p / q;
    if (spec.coordinate_mode == "asymmetric") return i * q / p;
    if (spec.coordinate_mode == "align_corners") {
      return width == 1 ? 0 : i * (in - 1) * q / (in * p - q);
    }
    if (spec.is_crop()) {
      if (width == 1) return (roi_begin + roi_end) * (in - 1) / 2;
      return roi_begin * (in - 1) + i * (roi_end - roi_begin) * (in - 1) / (width - 1);
    }
    if (spec.coordinate_mode == "pytorch_half_pixel" && out == 1) return 0;
    if (spec.coordinate_mode == "half_pixel_symmetric") {
      return (in * p - out * q + (2 * i + 1) * q - p) / (2 * p);
    }
    return (i + 0.5) * q / p - (spec.coordinate_mode == "tf_half_pixel_for_nn" ? 0 : 0.5);
  }

  int64_t nearest(double x) const {
    std::string how = spec.nearest_mode;
    if (how == "simple") how = scale_num < scale_den ? "ceil" : "floor";
    double at = std::floor(x);
    if (how == "ceil") at = std::ceil(x);
    if (how == "round_prefer_floor") at = std::ceil(x - 0.5);
    if (how == "round_prefer_ceil") at = std::floor(x + 0.5);
    return static_cast<int64_t>(at);
  }

  double kernel(double t) const {
    t = std::abs(t);
    if (spec.mode == "linear") return std::max(0.0, 1 - t);
    const double a = spec.cubic_a;
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    return 0;
  }

  /// Calls f(tap index, weight); weights sum to 1.
  template <typename F>
  void taps(double x, F&& f) const {
    if (spec.mode == "nearest") {
      f(nearest(x), 1.0);
      return;
    }
    const double squeeze = spec.antialias ? std::min(scale_num / scale_den, 1.0) : 1.0;
    const double reach = (spec.mode == "linear" ? 1.0 : 2.0) / squeeze;
    std::vector<std::pair<int64_t, double>> all;
    double sum = 0;
    for (auto t = static_cast<int64_t>(std::floor(x - reach)); t <= std::ceil(x + reach); ++t) {
      double w = kernel((static_cast<double>(t) - x) * squeeze);
      const bool excludes = spec.exclude_outside && (spec.mode == "cubic" || spec.antialias);
      if (excludes && (t < 0 || t >= static_cast<int64_t>(in))) w = 0;
      if (w != 0) all.emplace_back(t, w);
      sum += w;
    }
    for (const auto& [t, w] : all) f(t, w / sum);
  }
};

void evaluate(EvalContext& c) {
  const ResizeSpec spec(c.attrs());
  const std::vector<int64_t> sizes = c.dims_attr("sizes");
  RefTensor current = c.in(0);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t in = current.dims[axis], out = sizes[axis];
    AxisSampler s{spec, double(in), double(out), double(out), double(in), 0, 1};
    if (!spec.scales.empty()) {
      const Fraction f = fraction_from_scale(spec.scales[axis]);
      s.scale_num = double(f.num), s.scale_den = double(f.den);
    } else if (c.has(kResizeScales)) {
      s.scale_num = c.in(kResizeScales).as_double(int64_t(axis)), s.scale_den = 1;
    }
    if (spec.is_crop()) {
      s.roi_begin = c.in(kResizeRoi).as_double(int64_t(axis));
      s.roi_end = c.in(kResizeRoi).as_double(int64_t(axis + sizes.size()));
    } else if (in == out && s.scale_num == s.scale_den) {
      continue;
    }
    std::vector<int64_t> dims = current.dims;
    dims[axis] = out;
    // Intermediate results keep fractions, whatever the dtype of x.
    RefTensor next(spec.mode == "nearest" ? current.dtype : DType::f64, dims);
    if (in == 0 && next.size() > 0) {
      fail(DiagId::bad_input, {}, "operator 'resize': axis {} is empty and cannot become {}", axis,
           out);
    }
    const int64_t stride = current.strides()[axis];
    int64_t at = 0;
    for_each_index(dims, [&](const std::vector<int64_t>& index) {
      std::vector<int64_t> origin = index;
      origin[axis] = 0;
      const int64_t base = broadcast_offset(current.dims, origin);
      const double x = s.position(static_cast<double>(index[axis]));
      if (spec.is_crop() && !(x >= 0 && x <= static_cast<double>(in - 1))) {
        next.set(at++, spec.extrapolation);
        return;
      }
      double value = 0;
      s.taps(x, [&](int64_t t, double weight) {
        const int64_t from = base + std::clamp<int64_t>(t, 0, in - 1) * stride;
        if (spec.mode == "nearest") {
          next.copy_element(at, current, from);
        } else {
          value += weight * current.as_double(from);
        }
      });
      if (spec.mode != "nearest") next.set(at, value);
      ++at;
    });
    current = std::move(next);
  }
  RefTensor& y = c.out(c.in(0).dtype, sizes);
  for (int64_t i = 0; i < y.size(); ++i) {
    if (current.dtype == y.dtype) {
      y.copy_element(i, current, i);
    } else if (y.is_float_kind()) {
      y.set(i, current.as_double(i));
    } else {
      // Integers are cut off towards zero and saturate, as a cast of the tile IR does.
      const bool is_signed = is_signed_int(y.dtype);
      const double bits = static_cast<double>(8 * size_of(y.dtype) - (is_signed ? 1 : 0));
      const double high = std::ldexp(1, static_cast<int>(bits)) - 1;
      y.set(i, std::trunc(std::clamp(current.as_double(i), is_signed ? -high - 1 : 0, high)));
    }
  }
}

OpSample resize_sample(Dims in, Dims sizes, std::string mode, std::string coordinates,
                       DimValues symbols = {}, Attributes more = {}) {
  more.set("mode", std::move(mode));
  more.set("coordinate_mode", std::move(coordinates));
  more.set("sizes", std::move(sizes));
  OpSample s = make_sample({f32_tensor(std::move(in))}, std::move(more), std::move(symbols));
  s.tolerance = 1e-4;
  return s;
}

std::vector<OpSample> samples() {
  const DimExpr h = sym("h"), w = sym("w");
  OpSample crop = resize_sample({1, 1, 4, 4}, {1, 1, 3, 3}, "linear", "tf_crop_and_resize", {},
                                {{"extrapolation_value", 10.0}});
  crop.input_types.push_back(f32_tensor({8}));
  const auto roi = make_zeros(DType::f32, {8});
  for (const auto& [at, value] :
       {std::pair{2, 0.4}, {3, 0.6}, {4, 1.0}, {5, 1.0}, {6, 1.2}, {7, 1.7}}) {
    roi->set(at, value);
  }
  crop.constants[1] = roi;
  const Dims nhw = {1, 2, h, w};
  const DimValues hw = {{"h", 5}, {"w", 7}};
  return {
      resize_sample(
          nhw, {1, 2, 2 * h, 3 * w}, "nearest", "asymmetric", hw,
          {{"scales", std::vector<double>{1, 1, 2, 3}}, {"nearest_mode", std::string("floor")}}),
      resize_sample(nhw, {1, 2, 2 * h, 2 * w}, "linear", "half_pixel", hw),
      resize_sample(nhw, {1, 2, 8, sym("v")}, "cubic", "align_corners",
                    {{"h", 5}, {"w", 7}, {"v", 4}}),
      resize_sample(nhw, {1, 2, 3, 11}, "nearest", "half_pixel_symmetric", hw),
      resize_sample({1, 6, 8}, {1, 6, 3}, "linear", "half_pixel", {}, {{"antialias", int64_t{1}}}),
      resize_sample({1, 2, h, 8}, {1, 2, 2, 3}, "cubic", "pytorch_half_pixel", {{"h", 9}},
                    {{"antialias", int64_t{1}}, {"exclude_outside", int64_t{1}}}),
      crop,
  };
}

}  // namespace

extern const OpRecord resize_op;
const OpRecord resize_op = {
    .name = "resize",
    .min_args = 1,
    .max_args = 3,
    .attrs = {{"sizes", AttrSpec::Kind::dims, true},
              {"scales", AttrSpec::Kind::reals},
              {"mode", AttrSpec::Kind::text},
              {"coordinate_mode", AttrSpec::Kind::text},
              {"nearest_mode", AttrSpec::Kind::text},
              {"cubic_coeff_a", AttrSpec::Kind::real},
              {"extrapolation_value", AttrSpec::Kind::real},
              {"exclude_outside", AttrSpec::Kind::integer},
              {"antialias", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower_resize,
    .samples = samples,
};

}  // namespace symtile
