// dft: discrete Fourier transform along `axis` of x (..., 1 or 2), whose last axis is real or
// (real, imaginary). `length` (one formula) is the transform's length: a shorter axis is padded
// with zeros, a longer one cut. `inverse` conjugates and divides by the length. `onesided` keeps
// the bins 0 .. length / 2; with inverse it takes those of a real signal and gives that signal
// (..., 1). Spec: ONNX DFT-20, numpy fft/ifft/rfft/irfft.
#include <cmath>
#include <numbers>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

struct Spec {
  bool inverse, onesided;
  explicit Spec(const Attributes& a)
      : inverse(a.get_bool("inverse", false)), onesided(a.get_bool("onesided", false)) {}
  bool to_real() const { return inverse && onesided; }
};

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float, "a float type");
  const Dims& length = c.attrs().get_dims("length");
  if (length.size() != 1) c.fail(DiagId::bad_attribute, "length must be one formula");
  if (length[0].as_const().value_or(1) < 1) {
    c.fail(DiagId::bad_attribute, "length is {}, must be at least 1", length[0].str());
  }
  c.require_rank(0, 2, 1 << 20);
  if (!c.rank_known(0)) return {Type::tensor_any_rank(c.dtype(0))};
  const Spec spec(c.attrs());
  Dims dims = c.dims(0);
  const int axis = c.normalize_axis(c.attrs().get_int("axis"), c.rank(0));
  if (axis == c.rank(0) - 1) c.fail(DiagId::bad_attribute, "the last axis cannot be transformed");
  const auto parts = dims.back().as_const();
  if (parts && (*parts < 1 || *parts > 2)) {
    c.fail(DiagId::type_mismatch, "the last dimension is {}, must be 1 or 2", *parts);
  }
  if (!parts && !dims.back().is_unknown()) {
    c.fail(DiagId::unsupported, "the last dimension is {}, it must be known to be 1 or 2",
           dims.back().str());
  }
  if (spec.to_real() && parts.value_or(2) != 2) {
    c.fail(DiagId::type_mismatch, "the inverse of a one-sided transform needs complex input");
  }
  dims[static_cast<size_t>(axis)] =
      spec.onesided && !spec.inverse ? floordiv(length[0], 2) + 1 : length[0];
  dims.back() = spec.to_real() ? 1 : 2;
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const Spec spec(c.attrs());
  const RefTensor& x = c.in(0);
  const int64_t n = c.dims_attr("length")[0];
  int64_t a = c.attrs().get_int("axis");
  if (a < 0) a += x.rank();
  const auto axis = static_cast<size_t>(a);
  if (n < 1) fail(DiagId::bad_input, {}, "operator 'dft': length {} is not positive", n);
  std::vector<int64_t> dims = x.dims;
  dims[axis] = spec.onesided && !spec.inverse ? n / 2 + 1 : n;
  dims.back() = spec.to_real() ? 1 : 2;
  RefTensor& out = c.out(x.dtype, dims);
  const int64_t bins = spec.to_real() ? n / 2 + 1 : n;
  const std::vector<int64_t> strides = x.strides();
  const double sign = spec.inverse ? 1 : -1;
  int64_t to = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    int64_t base = 0;
    for (size_t k = 0; k + 1 < dims.size(); ++k) base += k == axis ? 0 : index[k] * strides[k];
    double re = 0, im = 0;
    for (int64_t t = 0; t < std::min(bins, x.dims[axis]); ++t) {
      const int64_t at = base + t * strides[axis];
      double xr = x.as_double(at), xi = x.dims.back() == 2 ? x.as_double(at + 1) : 0;
      // A real signal's other half is the conjugate of this one.
      if (spec.to_real() && t != 0 && 2 * t != n) xr *= 2, xi *= 2;
      const double turns = static_cast<double>(t * index[axis] % n) / static_cast<double>(n);
      const double angle = sign * 2 * std::numbers::pi * turns;
      re += xr * std::cos(angle) - xi * std::sin(angle);
      im += xr * std::sin(angle) + xi * std::cos(angle);
    }
    const double scale = spec.inverse ? 1 / static_cast<double>(n) : 1;
    out.set(to++, scale * (index.back() == 0 ? re : im));
  });
}

void lower(LowerContext& c) {
  const Spec spec(c.attrs());
  const TensorRef x = c.in(0);
  const DType acc = accumulation_type(c.out_dtype());
  const DimExpr length = c.attrs().get_dims("length")[0];
  int64_t a = c.attrs().get_int("axis");
  if (a < 0) a += x.rank();
  const auto axis = static_cast<size_t>(a);
  const Expr n = to_expr(length);
  const auto number = [&](double v) { return imm(acc, v); };
  // factor[j, q, p]: what part p of the input gives to part q of the output at j / n of a turn.
  const DimExpr parts_in = x.dims().back(), parts_out = c.out_dims().back();
  const TensorRef factor =
      c.temporary("turn", acc, {length, parts_out, parts_in}, [&](const Index& i) {
        const Expr scale = number(2 * std::numbers::pi) / cast(acc, n);
        const Expr angle = cast(acc, i[0]) * scale;
        const Expr cosine = unary(UnaryOp::cos, angle), sine = unary(UnaryOp::sin, angle);
        const Expr same = equal(i[1], i[2]);
        const Expr cross =
            spec.inverse ? select(i[1] < i[2], -sine, sine) : select(i[1] < i[2], sine, -sine);
        const Expr value = select(same, cosine, cross);
        return spec.inverse ? value / cast(acc, n) : value;
      });
  const DimExpr bins = spec.to_real() ? floordiv(length, 2) + 1 : length;
  DimExpr used = x.dims()[axis];
  if (!c.facts().proves_le(used, bins)) used = min(used, bins);
  c.compute(0, [&](const Index& index) {
    const std::vector<Axis> axes = {c.axis("t", used), c.axis("p", parts_in)};
    return cast(c.out_dtype(), reduce_over(ReduceKind::sum, axes, [&](const Index& t) {
                  Index at = index;
                  at[axis] = t[0];
                  at.back() = t[1];
                  Expr weight = factor({floormod(t[0] * index[axis], n), index.back(), t[1]});
                  if (spec.to_real()) {
                    const Expr once = equal(t[0], Expr(0)) || equal(t[0] * Expr(2), n);
                    weight = weight * select(once, number(1), number(2));
                  }
                  return cast(acc, x(at)) * weight;
                }));
  });
}

std::vector<OpSample> samples() {
  const auto attrs = [](int64_t axis, DimExpr length, int64_t inverse, int64_t onesided) {
    return Attributes{{"axis", axis},
                      {"length", Dims{std::move(length)}},
                      {"inverse", inverse},
                      {"onesided", onesided}};
  };
  std::vector<OpSample> all = {
      make_sample({f32_tensor({2, 9, 1})}, attrs(1, 9, 0, 1)),
      make_sample({f32_tensor({sym("n"), 3, 2})}, attrs(0, sym("n"), 0, 0), {{"n", 8}}),
      make_sample({f32_tensor({1, sym("n"), 2})}, attrs(-2, sym("n") + 3, 1, 0), {{"n", 5}}),
      make_sample({f32_tensor({1, sym("n"), 2})}, attrs(1, 2 * sym("n") - 2, 1, 1), {{"n", 6}}),
      make_sample({f32_tensor({0, 4, 1})}, attrs(1, 3, 0, 0)),
  };
  for (OpSample& s : all) s.tolerance = 1e-4;
  return all;
}

}  // namespace

extern const OpRecord dft_op;
const OpRecord dft_op = {
    .name = "dft",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer, true},
              {"length", AttrSpec::Kind::dims, true},
              {"inverse", AttrSpec::Kind::integer},
              {"onesided", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
