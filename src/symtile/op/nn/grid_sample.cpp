// grid_sample(x, grid): x (n, c, spatial...) read at the positions grid (n, out spatial..., axes),
// the last axis holding coordinates from the last spatial axis to the first, -1 and 1 being the
// ends of x. Modes nearest, linear, cubic (2 spatial axes); padding zeros, border, reflection.
// Spec: ONNX GridSample-20, torch.nn.functional.grid_sample.
#include <algorithm>
#include <cmath>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

/// Sharpness of the cubic kernel.
constexpr double kCubicA = -0.75;

struct Spec {
  std::string mode, padding;
  bool align_corners;
  explicit Spec(const Attributes& a)
      : mode(a.get_text("mode", "linear")),
        padding(a.get_text("padding_mode", "zeros")),
        align_corners(a.get_bool("align_corners", false)) {}
  int64_t taps() const { return mode == "nearest" ? 1 : mode == "linear" ? 2 : 4; }
};

std::vector<Type> deduce(DeduceContext& c) {
  const Spec spec(c.attrs());
  if (spec.mode != "nearest" && spec.mode != "linear" && spec.mode != "cubic") {
    c.fail(DiagId::bad_attribute, "mode '{}' is not nearest, linear or cubic", spec.mode);
  }
  if (spec.padding != "zeros" && spec.padding != "border" && spec.padding != "reflection") {
    c.fail(DiagId::bad_attribute, "padding_mode '{}' is not zeros, border or reflection",
           spec.padding);
  }
  c.require_dtype(0, is_float, "a float type");
  c.require_dtype(1, is_float, "a float type");
  if (!c.rank_known(0) && !c.rank_known(1)) return {Type::tensor_any_rank(c.dtype(0))};
  const int rank = c.rank_known(0) ? c.rank(0) : c.rank(1);
  c.require_rank(0, 3, 1 << 20);
  c.require_rank(1, rank, rank);
  if (spec.mode == "cubic" && rank != 4) {
    c.fail(DiagId::unsupported, "cubic sampling of {} spatial axes", rank - 2);
  }
  Dims out(static_cast<size_t>(rank), DimExpr::unknown());
  if (c.rank_known(1)) {
    const Dims& grid = c.dims(1);
    c.require_equal(grid.back(), rank - 2, "the last dimension of the grid");
    std::copy(grid.begin() + 1, grid.end() - 1, out.begin() + 2);
    out[0] = grid[0];
  }
  if (c.rank_known(0)) {
    out[1] = c.dims(0)[1];
    out[0] = c.require_equal(c.dims(0)[0], out[0], "the batch of the grid");
  }
  return {Type::tensor(std::move(out), c.dtype(0))};
}

double reflect(double x, double low, double high) {
  const double span = high - low;
  if (span == 0) return low;
  double away = std::fmod(std::abs(x - low), 2 * span);
  if (away > span) away = 2 * span - away;
  return low + away;
}

double cubic(double t) {
  t = std::abs(t);
  const double a = kCubicA;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

/// Taps of one axis at the grid coordinate: positions (-1: zero) and weights.
std::vector<std::pair<int64_t, double>> reference_taps(const Spec& spec, double coordinate,
                                                       int64_t extent) {
  const auto n = static_cast<double>(extent);
  const double low = spec.align_corners ? 0 : -0.5, high = spec.align_corners ? n - 1 : n - 0.5;
  double x = spec.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  // Except for cubic, whose taps are padded one by one, the position itself is padded.
  const auto padded = [&](double at) {
    if (spec.padding == "reflection") at = reflect(at, low, high);
    if (spec.padding != "zeros") at = std::clamp(at, 0.0, n - 1);
    return at;
  };
  std::vector<std::pair<int64_t, double>> taps;
  if (spec.mode != "cubic") x = padded(x);
  if (!std::isfinite(x)) x = -2;
  const double base = std::floor(x);
  if (spec.mode == "nearest") {
    taps.emplace_back(static_cast<int64_t>(std::nearbyint(x)), 1);
  } else if (spec.mode == "linear") {
    taps.emplace_back(static_cast<int64_t>(base), base + 1 - x);
    taps.emplace_back(static_cast<int64_t>(base) + 1, x - base);
  } else {
    for (int t = -1; t <= 2; ++t) {
      const double at = spec.padding == "zeros" ? base + t : padded(base + t);
      taps.emplace_back(static_cast<int64_t>(std::nearbyint(at)), cubic(x - (base + t)));
    }
  }
  for (auto& [at, weight] : taps) at = at < 0 || at >= extent ? -1 : at;
  return taps;
}

void evaluate(EvalContext& c) {
  const Spec spec(c.attrs());
  const RefTensor &x = c.in(0), &grid = c.in(1);
  const size_t n = x.dims.size() - 2;
  std::vector<int64_t> dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  RefTensor& out = c.out(x.dtype, dims);
  int64_t to = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> where = {index[0]};
    where.insert(where.end(), index.begin() + 2, index.end());
    where.push_back(0);
    std::vector<std::vector<std::pair<int64_t, double>>> taps;
    for (size_t k = 0; k < n; ++k) {
      where.back() = static_cast<int64_t>(n - 1 - k);
      taps.push_back(
          reference_taps(spec, grid.as_double(broadcast_offset(grid.dims, where)), x.dims[k + 2]));
    }
    double sum = 0;
    for_each_index(std::vector<int64_t>(n, spec.taps()), [&](const std::vector<int64_t>& t) {
      double weight = 1;
      int64_t from = index[0] * x.dims[1] + index[1];
      for (size_t k = 0; k < n; ++k) {
        const auto& [at, w] = taps[k][static_cast<size_t>(t[k])];
        weight *= w;
        if (from >= 0) from = at < 0 ? -1 : from * x.dims[k + 2] + at;
      }
      if (from >= 0) sum += weight * x.as_double(from);
    });
    out.set(to++, sum);
  });
}

/// Builds the taps of one spatial axis.
class AxisTaps {
 public:
  AxisTaps(const Spec& spec, const DimExpr& extent, Expr coordinate)
      : spec_(spec), extent_(to_expr(extent)), t_(coordinate.dtype()) {
    last_ = cast(t_, extent_) - number(1);
    const Expr n = cast(t_, extent_);
    position_ = spec.align_corners ? (coordinate + number(1)) / number(2) * last_
                                   : ((coordinate + number(1)) * n - number(1)) / number(2);
    if (spec.mode != "cubic") position_ = padded(position_);
    // What is far outside (or NaN) must not overflow the index arithmetic.
    const Expr sane = position_ > number(-3e8) && position_ < number(3e8);
    position_ = select(sane, position_, number(-4));
    base_ = unary(UnaryOp::floor, position_);
  }

  /// Index of tap t, not yet in bounds.
  Expr index(int64_t t) const {
    if (spec_.mode == "nearest") return cast(DType::i64, unary(UnaryOp::round, position_));
    if (spec_.mode == "linear") return cast(DType::i64, base_) + Expr(t);
    const Expr at = base_ + number(static_cast<double>(t - 1));
    return cast(DType::i64, spec_.padding == "zeros" ? at : unary(UnaryOp::round, padded(at)));
  }

  Expr weight(int64_t t) const {
    const Expr fraction = position_ - base_;
    if (spec_.mode == "nearest") return number(1);
    if (spec_.mode == "linear") return t == 0 ? number(1) - fraction : fraction;
    const double a = kCubicA;
    Expr d = fraction - number(static_cast<double>(t - 1));
    if (t >= 2) d = -d;  // taps 0 and 1 lie left of the position
    if (t == 1 || t == 2) return ((number(a + 2) * d) - number(a + 3)) * d * d + number(1);
    return ((number(a) * d - number(5 * a)) * d + number(8 * a)) * d - number(4 * a);
  }

  Expr inside(const Expr& at) const { return at >= Expr(0) && at < extent_; }

 private:
  Expr number(double v) const { return imm(t_, v); }
  Expr padded(Expr x) const {
    if (spec_.padding == "reflection") {
      const Expr low = number(spec_.align_corners ? 0 : -0.5);
      const Expr span = spec_.align_corners ? last_ : last_ + number(1);
      const Expr away = binary(BinaryOp::fmod, unary(UnaryOp::abs, x - low), number(2) * span);
      const Expr folded = low + select(away > span, number(2) * span - away, away);
      x = select(equal(span, number(0)), low, folded);
    }
    if (spec_.padding != "zeros") x = max(min(x, last_), number(0));
    return x;
  }

  Spec spec_;
  Expr extent_;
  DType t_;
  Expr last_, position_, base_;
};

void lower(LowerContext& c) {
  const Spec spec(c.attrs());
  const TensorRef x = c.in(0), grid = c.in(1);
  const DType acc = accumulation_type(c.out_dtype());
  const size_t n = x.dims().size() - 2;
  c.compute(0, [&](const Index& index) {
    std::vector<AxisTaps> axes;
    for (size_t k = 0; k < n; ++k) {
      Index where = {index[0]};
      where.insert(where.end(), index.begin() + 2, index.end());
      where.push_back(Expr(static_cast<int64_t>(n - 1 - k)));
      axes.emplace_back(spec, x.dims()[k + 2], cast(acc, grid(where)));
    }
    Expr sum;
    for_each_index(std::vector<int64_t>(n, spec.taps()), [&](const std::vector<int64_t>& t) {
      Index at = {index[0], index[1]};
      Expr weight = imm(acc, 1), inside;
      for (size_t k = 0; k < n; ++k) {
        const Expr i = axes[k].index(t[k]);
        at.push_back(i);
        weight = weight * axes[k].weight(t[k]);
        inside = inside.defined() ? inside && axes[k].inside(i) : axes[k].inside(i);
      }
      const Expr term = select(inside, cast(acc, x(at)) * weight, imm(acc, 0));
      sum = sum.defined() ? sum + term : term;
    });
    return cast(c.out_dtype(), sum);
  });
}

std::vector<OpSample> samples() {
  const auto attrs = [](const char* mode, const char* padding, int64_t align) {
    return Attributes{{"mode", std::string(mode)},
                      {"padding_mode", std::string(padding)},
                      {"align_corners", align}};
  };
  std::vector<OpSample> all = {
      make_sample({f32_tensor({1, 2, 5, 4}), f32_tensor({1, 3, 6, 2})},
                  attrs("linear", "zeros", 0)),
      make_sample(
          {f32_tensor({sym("b"), 2, sym("h"), sym("w")}), f32_tensor({sym("b"), sym("u"), 3, 2})},
          attrs("cubic", "reflection", 1), {{"b", 2}, {"h", 5}, {"w", 3}, {"u", 4}}),
      make_sample({f32_tensor({1, 1, sym("h"), 4}), f32_tensor({1, 2, 7, 2})},
                  attrs("cubic", "border", 0), {{"h", 3}}),
      make_sample({f32_tensor({1, 1, 3, 4, 2}), f32_tensor({1, 2, 2, 2, 3})},
                  attrs("linear", "reflection", 0)),
      make_sample({f32_tensor({1, 2, 5, sym("w")}), f32_tensor({1, 3, 6, 2})},
                  attrs("nearest", "zeros", 0), {{"w", 6}}),
  };
  for (OpSample& s : all) s.tolerance = 1e-4;
  return all;
}

}  // namespace

extern const OpRecord grid_sample_op;
const OpRecord grid_sample_op = {
    .name = "grid_sample",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"mode", AttrSpec::Kind::text},
              {"padding_mode", AttrSpec::Kind::text},
              {"align_corners", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
