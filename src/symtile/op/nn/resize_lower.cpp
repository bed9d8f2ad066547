// Lowering of `resize`. Positions are exact fractions of integers whenever the scale is a constant
// or a ratio of extents, so nearest and floor never suffer from rounding; only a run-time scale or
// a crop computes them in f32. Weights that take more than a multiply are tabulated for each axis.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/resize.h"

namespace symtile {
namespace {

Expr real(double v) { return imm(DType::f32, v); }
Expr to_real(const Expr& e) { return cast(DType::f32, e); }

/// A source position along one axis: num / den, or the f32 expression `value` when defined.
struct Position {
  Expr num, den, value;
};

/// How one axis is resampled: `taps` weighted elements for each output.
struct Sampler {
  size_t axis;
  DimExpr taps;
  std::function<Expr(const Expr& i, const Expr& tap)> index;
  std::function<Expr(const Expr& i, const Expr& tap)> weight;  ///< null: 1
  std::function<Expr(const Expr& i)> outside;                  ///< null: never
};

class ResizeLowering {
 public:
  explicit ResizeLowering(LowerContext& c) : c_(c), spec_(c.attrs()), x_(c.in(0)) {}

  void run() {
    std::vector<Sampler> samplers;
    for (size_t axis = 0; axis < x_.dims().size(); ++axis) {
      if (!identity(axis)) samplers.push_back(sampler(axis));
    }
    bool reduces = false;
    for (const Sampler& s : samplers) {
      const auto taps = s.taps.as_const();
      reduces = reduces || !taps || *taps > 4;
    }
    const DType t = c_.out_dtype();
    c_.compute(0, [&](const Index& index) {
      Expr value = reduces ? reduced(samplers, index) : unrolled(samplers, 0, index, index);
      value = cast(t, value);
      for (const Sampler& s : samplers) {
        if (s.outside) {
          value = select(s.outside(index[s.axis]), imm(t, spec_.extrapolation), value);
        }
      }
      return value;
    });
  }

 private:
  const DimExpr& in(size_t axis) const { return x_.dims()[axis]; }
  const DimExpr& out(size_t axis) const { return c_.out_dims()[axis]; }
  DType element() const {
    return spec_.mode == "nearest"        ? x_.dtype()
           : c_.out_dtype() == DType::f64 ? DType::f64
                                          : DType::f32;
  }

  /// The scale p / q of an axis, when it is not a run-time tensor.
  std::pair<DimExpr, DimExpr> ratio(size_t axis) const {
    if (!spec_.scales.empty()) {
      const Fraction f = fraction_from_scale(spec_.scales[axis]);
      return {f.num, f.den};
    }
    const DimExpr &from = in(axis), &to = out(axis);
    for (int64_t k = 1; k <= 8; ++k) {
      if (c_.facts().proves_equal(to, from * k)) return {k, 1};
      if (c_.facts().proves_equal(from, to * k)) return {1, k};
    }
    return {to, from};
  }

  bool identity(size_t axis) const {
    if (spec_.is_crop() || !c_.facts().proves_equal(in(axis), out(axis))) return false;
    if (spec_.scales.empty()) return !c_.has(kResizeScales);
    return spec_.scales[axis] == 1;
  }

  /// The scale as a real number.
  Expr real_scale(size_t axis) const {
    if (c_.has(kResizeScales)) return c_.in(kResizeScales)({Expr(static_cast<int64_t>(axis))});
    const auto [p, q] = ratio(axis);
    return to_real(to_expr(p)) / to_real(to_expr(q));
  }

  /// Position in f32, for scales known at run time and for crops.
  Expr real_position(size_t axis, const Expr& i) const {
    const Expr scale = real_scale(axis), at = to_real(i);
    const Expr extent = to_real(to_expr(in(axis))), result = to_real(to_expr(out(axis)));
    const Expr last = extent - real(1);
    // With no scale given the resized width is the result's extent, exactly.
    const bool given = c_.has(kResizeScales) || !spec_.scales.empty();
    const Expr width = given ? extent * scale : result;
    const Expr span = select(equal(width, real(1)), real(1), width - real(1));
    const std::string& mode = spec_.coordinate_mode;
    if (spec_.is_crop()) {
      const TensorRef roi = c_.in(kResizeRoi);
      const auto k = static_cast<int64_t>(axis), rank = static_cast<int64_t>(x_.dims().size());
      const Expr begin = roi({Expr(k)}), end = roi({Expr(k + rank)});
      return select(equal(width, real(1)), (begin + end) * last / real(2),
                    begin * last + at * (end - begin) * last / span);
    }
    if (mode == "asymmetric") return at / scale;
    if (mode == "align_corners") return select(equal(width, real(1)), real(0), at * last / span);
    if (mode == "tf_half_pixel_for_nn") return (at + real(0.5)) / scale;
    Expr centre = (at + real(0.5)) / scale - real(0.5);
    if (mode == "half_pixel_symmetric") {
      centre = extent / real(2) * (real(1) - result / width) + centre;
    }
    if (mode == "pytorch_half_pixel") centre = select(equal(result, real(1)), real(0), centre);
    return centre;
  }

  Position position(size_t axis, const Expr& i) const {
    if (spec_.is_crop() || c_.has(kResizeScales)) return {{}, {}, real_position(axis, i)};
    const auto [p, q] = ratio(axis);
    const std::string& mode = spec_.coordinate_mode;
    if (mode == "asymmetric") return {i * to_expr(q), to_expr(p), {}};
    if (mode == "align_corners") {
      // Over ratios of extents the common factor `in` is left out.
      if (spec_.scales.empty()) {
        return {i * to_expr(in(axis)-1), to_expr(max(out(axis) - 1, 1)), {}};
      }
      return {i * to_expr((in(axis)-1) * q), to_expr(max(in(axis)*p - q, 1)), {}};
    }
    Expr num = (i * Expr(2) + Expr(1)) * to_expr(q);
    if (mode == "tf_half_pixel_for_nn") return {num, to_expr(2 * p), {}};
    num = num - to_expr(p);
    if (mode == "half_pixel_symmetric") num = num + to_expr(in(axis)*p - out(axis) * q);
    // A single output of pytorch_half_pixel reads position 0.
    if (mode == "pytorch_half_pixel") num = num * to_expr(min(max(out(axis) - 1, 0), 1));
    return {num, to_expr(2 * p), {}};
  }

  /// floor(position + add / 2), or the ceiling.
  static Expr rounded(const Position& x, int add, bool up) {
    if (x.value.defined()) {
      const Expr shifted = add == 0 ? x.value : x.value + real(0.5 * add);
      return cast(DType::i64, unary(up ? UnaryOp::ceil : UnaryOp::floor, shifted));
    }
    Expr num = x.num, den = x.den;
    if (add != 0) {
      num = num * Expr(2) + den * Expr(add);
      den = den * Expr(2);
    }
    return floordiv(up ? num + (den - Expr(1)) : num, den);
  }

  Expr clamp(size_t axis, const Expr& i) const { return max(min(i, to_expr(in(axis)-1)), Expr(0)); }

  Sampler sampler(size_t axis) {
    Sampler s;
    s.axis = axis;
    s.taps = 1;
    if (spec_.mode == "nearest") {
      s.index = [this, axis](const Expr& i, const Expr&) { return nearest(axis, i); };
    } else if (spec_.mode == "linear" && !spec_.antialias && inline_linear(axis)) {
      s.taps = 2;
      s.index = [this, axis](const Expr& i, const Expr& tap) {
        return clamp(axis, rounded(position(axis, i), 0, false) + tap);
      };
      s.weight = [this, axis](const Expr& i, const Expr& tap) {
        const Position x = position(axis, i);
        const Expr fraction = cast(element(), floormod(x.num, x.den)) / cast(element(), x.den);
        return tap.is_int(0) ? imm(element(), 1) - fraction : fraction;
      };
    } else {
      tabulate(s);
    }
    if (spec_.is_crop()) {
      s.outside = [this, axis](const Expr& i) {
        const Expr x = real_position(axis, i);
        return !(x >= real(0) && x <= to_real(to_expr(in(axis)-1)));
      };
    }
    return s;
  }

  /// Linear weights cost little when the division is by a constant.
  bool inline_linear(size_t axis) const {
    if (spec_.is_crop() || c_.has(kResizeScales) || spec_.coordinate_mode == "align_corners") {
      return false;
    }
    return ratio(axis).first.is_const();
  }

  Expr nearest(size_t axis, const Expr& i) const {
    const std::string& mode = spec_.coordinate_mode;
    std::string how = spec_.nearest_mode;
    if (!spec_.is_crop() && !c_.has(kResizeScales)) {
      const auto [p, q] = ratio(axis);
      if (how == "simple") how = c_.facts().proves_lt(p, q) ? "ceil" : "floor";
      // Enlarging k times repeats every element k times.
      const bool centred = mode == "half_pixel" || mode == "pytorch_half_pixel";
      const bool rounds = how == "round_prefer_floor" || how == "round_prefer_ceil";
      const bool repeats = (centred && rounds) || (mode == "asymmetric" && how == "floor");
      const DimExpr exact = p * in(axis);
      if (repeats && q.is_const(1) && p.is_const() && c_.facts().proves_equal(exact, out(axis))) {
        return floordiv(i, to_expr(p));
      }
    }
    const Position x = position(axis, i);
    Expr at;
    if (how == "simple") {
      at = select(real_scale(axis) < real(1), rounded(x, 0, true), rounded(x, 0, false));
    } else if (how == "round_prefer_floor") {
      at = rounded(x, -1, true);
    } else if (how == "round_prefer_ceil") {
      at = rounded(x, 1, false);
    } else {
      at = rounded(x, 0, how == "ceil");
    }
    return clamp(axis, at);
  }

  /// Tables of the first tap and the weights of an axis.
  void tabulate(Sampler& s) {
    const size_t axis = s.axis;
    const bool linear = spec_.mode == "linear";
    const int64_t radius = linear ? 1 : 2;
    // The taps are floor(x) + first + (0 .. taps - 1).
    DimExpr first = 1 - radius;
    Expr squeeze = imm(element(), 1);
    if (spec_.antialias) {
      const auto [p, q] = ratio(axis);
      // An empty result has no taps, but its extent must not divide either.
      first = min(floordiv(-radius * q, c_.facts().simplify(max(p, 1))) + 1, first);
      const Expr scale = cast(element(), to_expr(p)) / cast(element(), to_expr(q));
      squeeze = min(scale, squeeze);
    }
    s.taps = 2 - 2 * first;
    const DimExpr extent = out(axis);
    const TensorRef base = c_.temporary("base", DType::i64, {extent}, [&](const Index& i) {
      return rounded(position(axis, i[0]), 0, false);
    });
    const TensorRef raw = c_.temporary("weight", element(), {extent, s.taps}, [&](const Index& i) {
      const Position x = position(axis, i[0]);
      Expr fraction;
      if (x.value.defined()) {
        fraction = cast(element(), x.value - unary(UnaryOp::floor, x.value));
      } else {
        fraction = cast(element(), floormod(x.num, x.den)) / cast(element(), x.den);
      }
      const Expr tap = i[1] + to_expr(first);
      Expr w = kernel((cast(element(), tap) - fraction) * squeeze);
      if (spec_.exclude_outside && (!linear || spec_.antialias)) {
        const Expr at = base({i[0]}) + tap;
        w = select(at >= Expr(0) && at < to_expr(in(axis)), w, imm(element(), 0));
      }
      return w;
    });
    TensorRef weight = raw;
    if (spec_.exclude_outside || spec_.antialias) {
      const DimExpr taps = s.taps;
      weight = c_.temporary("normal", element(), {extent, taps}, [&](const Index& i) {
        return raw(i) / reduce_over(ReduceKind::sum, c_.axis("t", taps),
                                    [&](const Expr& t) { return raw({i[0], t}); });
      });
    }
    s.index = [this, axis, base, first](const Expr& i, const Expr& tap) {
      return clamp(axis, base({i}) + (tap + to_expr(first)));
    };
    s.weight = [weight](const Expr& i, const Expr& tap) { return weight({i, tap}); };
  }

  /// The interpolation kernel at distance `t`.
  Expr kernel(const Expr& distance) const {
    const DType e = element();
    const Expr t = unary(UnaryOp::abs, distance);
    if (spec_.mode == "linear") return max(imm(e, 0), imm(e, 1) - t);
    const double a = spec_.cubic_a;
    const Expr near = (imm(e, a + 2) * t - imm(e, a + 3)) * t * t + imm(e, 1);
    const Expr far = ((imm(e, a) * t - imm(e, 5 * a)) * t + imm(e, 8 * a)) * t - imm(e, 4 * a);
    return select(t <= imm(e, 1), near, select(t < imm(e, 2), far, imm(e, 0)));
  }

  /// Weighted sum over the taps of samplers k.. written out; `at` is the source index so far.
  Expr unrolled(const std::vector<Sampler>& samplers, size_t k, const Index& index, Index at) {
    Expr sum;
    add_taps(samplers, k, index, std::move(at), {}, sum);
    return sum;
  }

  void add_taps(const std::vector<Sampler>& samplers, size_t k, const Index& index, Index at,
                const Expr& weight, Expr& sum) {
    if (k == samplers.size()) {
      Expr term = cast(element(), x_(std::move(at)));
      if (weight.defined()) term = weight * term;
      sum = sum.defined() ? sum + term : term;
      return;
    }
    const Sampler& s = samplers[k];
    for (int64_t t = 0; t < *s.taps.as_const(); ++t) {
      at[s.axis] = s.index(index[s.axis], Expr(t));
      Expr w = weight;
      if (s.weight) {
        const Expr own = s.weight(index[s.axis], Expr(t));
        w = w.defined() ? w * own : own;
      }
      add_taps(samplers, k + 1, index, at, w, sum);
    }
  }

  Expr reduced(const std::vector<Sampler>& samplers, const Index& index) {
    std::vector<Axis> axes;
    for (const Sampler& s : samplers) axes.push_back(c_.axis("t", s.taps));
    return reduce_over(ReduceKind::sum, axes, [&](const Index& taps) {
      Index at = index;
      Expr weight;
      for (size_t k = 0; k < samplers.size(); ++k) {
        const Sampler& s = samplers[k];
        at[s.axis] = s.index(index[s.axis], taps[k]);
        const Expr w = s.weight(index[s.axis], taps[k]);
        weight = weight.defined() ? weight * w : w;
      }
      return cast(element(), x_(std::move(at))) * weight;
    });
  }

  LowerContext& c_;
  ResizeSpec spec_;
  TensorRef x_;
};

}  // namespace

void lower_resize(LowerContext& c) { ResizeLowering(c).run(); }

}  // namespace symtile
