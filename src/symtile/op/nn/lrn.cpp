// Local response normalisation over a window of `size` channels (axis 1): ONNX LRN-13,
// x / (bias + alpha / size * sum of squares in the window) ^ beta.
#include <algorithm>
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_rank(0, 2, 1 << 20);
  const int64_t size = c.attrs().get_int("size");
  if (size < 1) c.fail(DiagId::bad_attribute, "size must be at least 1, not {}", size);
  return deduce_float_unary(c);
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const int64_t size = c.attrs().get_int("size");
  const double alpha = c.attrs().get_float("alpha", 1e-4), beta = c.attrs().get_float("beta", 0.75);
  const double bias = c.attrs().get_float("bias", 1);
  RefTensor& out = c.out(x.dtype, x.dims);
  if (out.size() == 0) return;
  const int64_t stride = x.strides()[1];
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const int64_t first = std::max<int64_t>(0, index[1] - (size - 1) / 2);
    const int64_t last = std::min(x.dims[1] - 1, index[1] + size / 2);
    double sum = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double v = x.as_double(at + (k - index[1]) * stride);
      sum += v * v;
    }
    out.set(at, x.as_double(at) / std::pow(bias + alpha / static_cast<double>(size) * sum, beta));
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const int64_t size = c.attrs().get_int("size");
  const double alpha = c.attrs().get_float("alpha", 1e-4);
  const Expr channels = to_expr(x.dims()[1]);
  c.compute(0, [&](const Index& i) {
    const Expr sum = reduce_over(ReduceKind::sum, c.axis("w", size), [&](Expr w) {
      Index at = i;
      at[1] = i[1] + w - Expr((size - 1) / 2);
      const Expr v = widen(x(at));
      return select(at[1] >= Expr(0) && at[1] < channels, v * v, imm_like(v, 0));
    });
    const Expr base = imm_like(sum, c.attrs().get_float("bias", 1)) +
                      imm_like(sum, alpha / static_cast<double>(size)) * sum;
    return widen(x(i)) /
           binary(BinaryOp::pow, base, imm_like(sum, c.attrs().get_float("beta", 0.75)));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), ch = DimExpr::symbol("c");
  std::vector<OpSample> out(3);
  out[0].input_types = {Type::tensor({2, 5, 3, 3}, DType::f32)};
  out[0].attrs = {{"size", int64_t{3}}, {"alpha", 2e-1}, {"beta", 0.5}, {"bias", 2.0}};
  out[1].input_types = {Type::tensor({n, ch, 3}, DType::f32)};
  out[1].attrs = {{"size", int64_t{4}}};
  out[1].symbols = {{"n", 2}, {"c", 7}};
  out[2].input_types = {Type::tensor({n, ch}, DType::f32)};
  out[2].attrs = {{"size", int64_t{5}}};
  out[2].symbols = {{"n", 2}, {"c", 0}};
  return out;
}

}  // namespace

extern const OpRecord lrn_op;
const OpRecord lrn_op = {
    .name = "lrn",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"size", AttrSpec::Kind::integer, true},
              {"alpha", AttrSpec::Kind::real},
              {"beta", AttrSpec::Kind::real},
              {"bias", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
