// roi_align(x, rois, batch_indices): every region (x1, y1, x2, y2) of rois (r, 4), in the image its
// batch index names, is divided into `output_height` x `output_width` bins; a bin is the average
// (or, in mode max, the largest weighted corner) of bilinear samples at its inner grid points, of
// which there are `sampling_ratio` squared, or for 0 as many as the bin has pixels. Spec: ONNX
// RoiAlign-16; half_pixel shifts regions by half a pixel and lets them be thinner than one.
#include <algorithm>
#include <cmath>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

/// More sample points a side than any region has pixels: ends the loop for absurd regions.
constexpr int64_t kMostSamples = int64_t{1} << 16;

struct Spec {
  int64_t height, width, ratio;
  double scale;
  bool half_pixel, is_max;
  explicit Spec(const Attributes& a)
      : height(a.get_int("output_height", 1)),
        width(a.get_int("output_width", 1)),
        ratio(a.get_int("sampling_ratio", 0)),
        scale(a.get_float("spatial_scale", 1)),
        half_pixel(a.get_bool("half_pixel", true)),
        is_max(a.get_text("mode", "avg") == "max") {}
};

std::vector<Type> deduce(DeduceContext& c) {
  const Spec spec(c.attrs());
  const std::string mode = c.attrs().get_text("mode", "avg");
  if (mode != "avg" && mode != "max") {
    c.fail(DiagId::bad_attribute, "mode '{}' is not avg or max", mode);
  }
  if (spec.height < 1 || spec.width < 1 || spec.ratio < 0) {
    c.fail(DiagId::bad_attribute,
           "output extents must be positive and sampling_ratio not negative");
  }
  c.require_dtype(0, is_float, "a float type");
  c.require_same_dtype(0, 1);
  c.require_dtype(2, [](DType t) { return t == DType::i64; }, "i64");
  c.require_rank(0, 4, 4);
  c.require_rank(1, 2, 2);
  c.require_rank(2, 1, 1);
  Dims out(4, DimExpr::unknown());
  if (c.rank_known(0)) out[1] = c.dims(0)[1];
  if (c.rank_known(1)) {
    c.require_equal(c.dims(1)[1], 4, "the last dimension of the regions");
    out[0] = c.dims(1)[0];
  }
  if (c.rank_known(2))
    out[0] = c.require_equal(out[0], c.dims(2)[0], "the number of batch indices");
  out[2] = spec.height;
  out[3] = spec.width;
  return {Type::tensor(std::move(out), c.dtype(0))};
}

/// The four corners of a bilinear sample along one axis: (low, high, weight of high), or weight -1
/// outside.
struct Between {
  int64_t low, high;
  double fraction;
};
Between between(double at, int64_t extent) {
  if (extent < 1 || !(at >= -1 && at <= static_cast<double>(extent))) return {0, 0, -1};
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= extent - 1) return {extent - 1, extent - 1, 0};
  return {low, low + 1, at - static_cast<double>(low)};
}

void evaluate(EvalContext& c) {
  const Spec spec(c.attrs());
  const RefTensor &x = c.in(0), &rois = c.in(1);
  const int64_t h = x.dims[2], w = x.dims[3];
  const std::vector<int64_t> dims = {rois.dims[0], x.dims[1], spec.height, spec.width};
  RefTensor& out = c.out(x.dtype, dims);
  const double offset = spec.half_pixel ? 0.5 : 0;
  int64_t to = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    const int64_t image = c.in(2).as_int(index[0]);
    if (image < 0 || image >= x.dims[0]) {
      fail(DiagId::bad_input, {}, "operator 'roi_align': batch index {} is not within 0 and {}",
           image, x.dims[0] - 1);
    }
    double start[2], bin[2];
    int64_t count[2];
    for (int axis = 0; axis < 2; ++axis) {  // 0: y, 1: x
      const double begin = rois.as_double(index[0] * 4 + 1 - axis) * spec.scale - offset;
      double size = rois.as_double(index[0] * 4 + 3 - axis) * spec.scale - offset - begin;
      if (!spec.half_pixel) size = std::max(size, 1.0);
      bin[axis] = size / static_cast<double>(axis == 0 ? spec.height : spec.width);
      start[axis] = begin + static_cast<double>(index[static_cast<size_t>(axis) + 2]) * bin[axis];
      count[axis] = spec.ratio > 0 ? spec.ratio
                                   : static_cast<int64_t>(std::clamp<double>(
                                         std::ceil(bin[axis]), 0, double(kMostSamples)));
    }
    const int64_t base = (image * x.dims[1] + index[1]) * h * w;
    double sum = 0, best = 0;
    bool first = true;
    for (int64_t iy = 0; iy < count[0]; ++iy) {
      for (int64_t ix = 0; ix < count[1]; ++ix) {
        const auto grid = [&](int axis, int64_t i) {
          return start[axis] +
                 (static_cast<double>(i) + 0.5) * bin[axis] / static_cast<double>(count[axis]);
        };
        const Between y = between(grid(0, iy), h), z = between(grid(1, ix), w);
        double corner[4] = {0, 0, 0, 0};
        if (y.fraction >= 0 && z.fraction >= 0) {
          const auto pixel = [&](int64_t r, int64_t s) { return x.as_double(base + r * w + s); };
          corner[0] = (1 - y.fraction) * (1 - z.fraction) * pixel(y.low, z.low);
          corner[1] = (1 - y.fraction) * z.fraction * pixel(y.low, z.high);
          corner[2] = y.fraction * (1 - z.fraction) * pixel(y.high, z.low);
          corner[3] = y.fraction * z.fraction * pixel(y.high, z.high);
        }
        sum += corner[0] + corner[1] + corner[2] + corner[3];
        const double largest = *std::max_element(corner, corner + 4);
        best = first ? largest : std::max(best, largest);
        first = false;
      }
    }
    const auto samples = static_cast<double>(std::max<int64_t>(count[0] * count[1], 1));
    out.set(to++, spec.is_max ? best : sum / samples);
  });
}

class RoiLowering {
 public:
  explicit RoiLowering(LowerContext& c)
      : c_(c), spec_(c.attrs()), acc_(accumulation_type(c.out_dtype())), x_(c.in(0)) {}

  void run() {
    const TensorRef out = c_.result();
    const TensorRef sum = c_.buffer("sum", acc_, {out.dims()[0]});
    const Expr r = variable("r"), channel = variable("c"), ph = variable("ph"), pw = variable("pw");
    const Expr iy = variable("iy"), ix = variable("ix");
    const Expr images = to_expr(x_.dims()[0]);
    const Expr image = max(min(c_.in(2)({r}), images - Expr(1)), Expr(0));

    axis(0, r, ph, iy, spec_.height);
    axis(1, r, pw, ix, spec_.width);
    const Expr total = sum({r});
    const Expr sample = corners(image, channel);
    Expr next = total + sample;
    if (spec_.is_max) {
      const Expr first = equal(iy + ix, Expr(0));
      next = select(first, sample, max(total, sample));
    }
    Stmt body = wrap(sample_lets_, store(sum.buffer.name, {r}, next));
    body = loop(iy, count_[0], loop(ix, count_[1], std::move(body)));
    Expr value = total;
    if (!spec_.is_max) value = total / cast(acc_, max(count_[0] * count_[1], Expr(1)));
    body = block({store(sum.buffer.name, {r}, imm(acc_, 0)), std::move(body),
                  store(out.buffer.name, {r, channel, ph, pw}, cast(out.dtype(), value))});
    body = wrap(bin_lets_, std::move(body));
    body = loop(ph, Expr(spec_.height), loop(pw, Expr(spec_.width), std::move(body)));
    body = loop(channel, to_expr(x_.dims()[1]), std::move(body));
    c_.statement(for_loop(name_of_var(r), Expr(0), to_expr(out.dims()[0]), LoopKind::parallel,
                          std::move(body)));
  }

 private:
  using Lets = std::vector<std::pair<std::string, Expr>>;

  Expr variable(const char* hint) { return var(c_.fresh(hint)); }
  static std::string name_of_var(const Expr& v) { return v.as<VarRef>()->name; }
  static Stmt loop(const Expr& v, const Expr& end, Stmt body) {
    return for_loop(name_of_var(v), Expr(0), end, LoopKind::serial, std::move(body));
  }
  Expr number(double v) const { return imm(acc_, v); }
  Expr let(Lets& lets, const char* hint, const Expr& value) {
    lets.emplace_back(c_.fresh(hint), value);
    return var(lets.back().first, value.dtype());
  }
  static Stmt wrap(const Lets& lets, Stmt body) {
    for (auto it = lets.rbegin(); it != lets.rend(); ++it) {
      body = make_stmt(LetStmt{it->first, it->second, std::move(body)});
    }
    return body;
  }

  /// Variables of one axis (0: y, 1: x): sample count, and the two pixels of sample `i` of bin `p`.
  void axis(int a, const Expr& r, const Expr& p, const Expr& i, int64_t bins) {
    const TensorRef rois = c_.in(1);
    const Expr offset = number(spec_.half_pixel ? 0.5 : 0), scale = number(spec_.scale);
    const Expr begin = let(bin_lets_, "begin", cast(acc_, rois({r, Expr(1 - a)})) * scale - offset);
    Expr size = cast(acc_, rois({r, Expr(3 - a)})) * scale - offset - begin;
    if (!spec_.half_pixel) size = max(size, number(1));
    const Expr bin = let(bin_lets_, "bin", size / number(static_cast<double>(bins)));
    Expr count(spec_.ratio);
    if (spec_.ratio == 0) {
      count = cast(DType::i64, unary(UnaryOp::ceil, bin));
      count = max(min(count, Expr(kMostSamples)), Expr(0));
    }
    count_[a] = let(bin_lets_, "count", count);
    const DimExpr& extent = x_.dims()[static_cast<size_t>(a) + 2];
    const Expr last = to_expr(extent) - Expr(1);
    const Expr at = let(
        sample_lets_, "at",
        begin + cast(acc_, p) * bin + (cast(acc_, i) + number(0.5)) * bin / cast(acc_, count_[a]));
    inside_[a] = at >= number(-1) && at <= cast(acc_, to_expr(extent));
    const Expr clamped = select(inside_[a], max(at, number(0)), number(0));
    low_[a] = let(sample_lets_, "low", min(cast(DType::i64, clamped), last));
    high_[a] = let(sample_lets_, "high", min(low_[a] + Expr(1), last));
    fraction_[a] = let(sample_lets_, "part",
                       select(low_[a] >= last, number(0), clamped - cast(acc_, low_[a])));
  }

  /// Sum (or maximum) of the weighted corners of a sample.
  Expr corners(const Expr& image, const Expr& channel) {
    Expr value;
    for (int k = 0; k < 4; ++k) {
      const bool down = k >= 2, right = k % 2 == 1;
      const Expr wy = down ? fraction_[0] : number(1) - fraction_[0];
      const Expr wx = right ? fraction_[1] : number(1) - fraction_[1];
      const Expr pixel =
          cast(acc_, x_({image, channel, down ? high_[0] : low_[0], right ? high_[1] : low_[1]}));
      const Expr term = wy * wx * pixel;
      value = !value.defined() ? term : spec_.is_max ? max(value, term) : value + term;
    }
    // An empty image has no pixel to read.
    const Expr readable = to_expr(x_.dims()[2] * x_.dims()[3] * x_.dims()[0]) > Expr(0);
    return select(readable && inside_[0] && inside_[1], value, number(0));
  }

  LowerContext& c_;
  Spec spec_;
  DType acc_;
  TensorRef x_;
  Lets bin_lets_, sample_lets_;
  Expr count_[2], inside_[2], low_[2], high_[2], fraction_[2];
};

void lower(LowerContext& c) { RoiLowering(c).run(); }

OpSample roi_sample(Dims x, Attributes attrs, DimValues symbols = {}) {
  OpSample s =
      make_sample({f32_tensor(std::move(x)), f32_tensor({3, 4}), Type::tensor({3}, DType::i64)},
                  std::move(attrs), std::move(symbols));
  const auto rois = make_zeros(DType::f32, {3, 4});
  const double corners[] = {0, 0, 9, 9, 0.5, 5, 4, 9, -1, 2.25, 5, 12};
  for (int64_t k = 0; k < 12; ++k) rois->set(k, corners[k]);
  const auto images = make_zeros(DType::i64, {3});
  images->set_int(1, 1);
  s.constants = {{1, rois}, {2, images}};
  s.tolerance = 1e-4;
  return s;
}

std::vector<OpSample> samples() {
  return {
      roi_sample({2, 3, 10, 10}, {{"output_height", int64_t{5}},
                                  {"output_width", int64_t{4}},
                                  {"sampling_ratio", int64_t{2}}}),
      roi_sample({2, 1, sym("h"), 8},
                 {{"output_height", int64_t{2}},
                  {"output_width", int64_t{3}},
                  {"half_pixel", int64_t{0}},
                  {"mode", std::string("max")}},
                 {{"h", 7}}),
      roi_sample(
          {2, 2, 6, sym("w")},
          {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"spatial_scale", 0.5}},
          {{"w", 5}}),
  };
}

}  // namespace

extern const OpRecord roi_align_op;
const OpRecord roi_align_op = {
    .name = "roi_align",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"output_height", AttrSpec::Kind::integer},
              {"output_width", AttrSpec::Kind::integer},
              {"sampling_ratio", AttrSpec::Kind::integer},
              {"spatial_scale", AttrSpec::Kind::real},
              {"half_pixel", AttrSpec::Kind::integer},
              {"mode", AttrSpec::Kind::text}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
