// mel_weight_matrix(sample_rate, lower_hertz, upper_hertz): triangular filters evenly spaced on the
// mel scale, (length / 2 + 1, bands), for spectra of a transform of `length`; both are formulas.
// Spec: ONNX MelWeightMatrix and its reference implementation.
#include <cmath>

#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

bool is_scalar_type(DType t) { return t == DType::f64; }

std::vector<Type> deduce(DeduceContext& c) {
  for (int i = 0; i < 3; ++i) {
    c.require_dtype(i, is_scalar_type, "f64");
    c.require_rank(i, 0, 0);
  }
  const Dims &length = c.attrs().get_dims("length"), &bands = c.attrs().get_dims("bands");
  if (length.size() != 1 || bands.size() != 1) {
    c.fail(DiagId::bad_attribute, "length and bands must be one formula each");
  }
  return {Type::tensor({floordiv(length[0], 2) + 1, bands[0]}, DType::f64)};
}

void evaluate(EvalContext& c) {
  const int64_t length = c.dims_attr("length")[0], bands = c.dims_attr("bands")[0];
  const int64_t bins = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.in(1).as_double(0)), high = mel(c.in(2).as_double(0));
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / c.in(0).as_double(0));
    if (!(bin >= 0 && bin < static_cast<double>(bins))) {
      fail(DiagId::bad_input, {},
           "operator 'mel_weight_matrix': band edge {} Hz lies outside the "
           "spectrum",
           hertz);
    }
    edges.push_back(static_cast<int64_t>(bin));
  }
  RefTensor& out = c.out(DType::f64, {bins, bands});
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t left = edges[static_cast<size_t>(i)], centre = edges[static_cast<size_t>(i + 1)];
    const int64_t right = edges[static_cast<size_t>(i + 2)];
    for (int64_t j = left; j < centre; ++j) {
      out.set(j * bands + i, static_cast<double>(j - left) / static_cast<double>(centre - left));
    }
    out.set(centre * bands + i, 1);
    for (int64_t j = centre; j < right; ++j) {
      out.set(j * bands + i, static_cast<double>(right - j) / static_cast<double>(right - centre));
    }
  }
}

void lower(LowerContext& c) {
  const Expr length = to_expr(c.attrs().get_dims("length")[0]);
  const DimExpr bands = c.attrs().get_dims("bands")[0];
  const auto number = [](double v) { return imm(DType::f64, v); };
  const auto real = [](const Expr& e) { return cast(DType::f64, e); };
  const auto mel = [&](int i) {
    const Expr ratio = number(1) + c.in(i)({}) / number(700);
    return number(2595 / std::log(10)) * unary(UnaryOp::log, ratio);
  };
  const TensorRef edge = c.temporary("edge", DType::i64, {bands + 2}, [&](const Index& i) {
    const Expr step = (mel(2) - mel(1)) / real(to_expr(bands + 2));
    const Expr at = mel(1) + real(i[0]) * step;
    const Expr hertz = number(700) * unary(UnaryOp::expm1, at * number(std::log(10) / 2595));
    return cast(DType::i64, unary(UnaryOp::floor, real(length + Expr(1)) * hertz / c.in(0)({})));
  });
  c.compute(0, [&](const Index& i) {
    const Expr left = edge({i[1]}), centre = edge({i[1] + Expr(1)}), right = edge({i[1] + Expr(2)});
    const Expr up = real(i[0] - left) / real(centre - left);
    const Expr down = real(right - i[0]) / real(right - centre);
    const Expr side = select(i[0] < centre, up, select(equal(i[0], centre), number(1), down));
    const Expr covered = equal(i[0], centre) || (i[0] >= left && i[0] < right);
    return select(covered, side, number(0));
  });
}

std::vector<OpSample> samples() {
  const Type scalar = Type::tensor({}, DType::f64);
  OpSample s = make_sample({scalar, scalar, scalar},
                           {{"length", Dims{sym("n")}}, {"bands", Dims{8}}}, {{"n", 16}});
  s.constants = {{0, make_scalar(DType::f64, 8192)},
                 {1, make_scalar(DType::f64, 0)},
                 {2, make_scalar(DType::f64, 4096)}};
  return {s};
}

}  // namespace

extern const OpRecord mel_weight_matrix_op;
const OpRecord mel_weight_matrix_op = {
    .name = "mel_weight_matrix",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"length", AttrSpec::Kind::dims, true}, {"bands", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
