// (x - mean) / sqrt(var + epsilon) * scale + bias with given statistics of every channel (axis 1):
// ONNX BatchNormalization-15 in inference. An argument of rank 1 is one channel.
#include <cmath>

#include "symtile/op/nn/norm.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_rank(0, 1, 1 << 20);
  const bool known = c.rank_known(0);
  const DimExpr channels = !known ? DimExpr::unknown() : c.rank(0) == 1 ? 1 : c.dims(0)[1];
  require_channel_vectors(c, 1, channels);
  return deduce_float_unary(c);
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const double epsilon = c.attrs().get_float("epsilon", 1e-5);
  RefTensor& out = c.out(x.dtype, x.dims);
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const int64_t k = index.size() == 1 ? 0 : index[1];
    const double scale = c.in(1).as_double(k), bias = c.in(2).as_double(k);
    const double mean = c.in(3).as_double(k), variance = c.in(4).as_double(k);
    out.set(at, (x.as_double(at) - mean) / std::sqrt(variance + epsilon) * scale + bias);
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const DType dtype = compute_dtype(x.dtype());
  const Expr epsilon = imm(dtype, c.attrs().get_float("epsilon", 1e-5));
  c.compute(0, [&](const Index& i) {
    const auto channel = [&](int k) {
      return cast(dtype, c.in(k)({i.size() == 1 ? Expr(0) : i[1]}));
    };
    const Expr factor = channel(1) / unary(UnaryOp::sqrt, channel(4) + epsilon);
    return (widen(x(i)) - channel(3)) * factor + channel(2);
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), h = DimExpr::symbol("h"), ch = DimExpr::symbol("c");
  std::vector<OpSample> out;
  const auto add = [&](Dims dims, DimExpr channels, DType t, DimValues symbols) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), t)};
    for (int i = 0; i < 4; ++i) s.input_types.push_back(Type::tensor({channels}, t));
    s.symbols = std::move(symbols);
    s.low = 0.1, s.high = 2;  // a variance is positive
    s.attrs = {{"epsilon", 1e-3}};
    s.tolerance = 2 * sample_tolerance(t);
    out.push_back(std::move(s));
  };
  add({2, 3, 4, 5}, 3, DType::f32, {});
  add({n, ch, h, h}, ch, DType::f32, {{"n", 2}, {"c", 7}, {"h", 5}});
  add({n}, 1, DType::f32, {{"n", 10}});
  add({n, 4}, 4, DType::f16, {{"n", 3}});
  add({n, 3, 2}, 3, DType::f32, {{"n", 0}});
  return out;
}

}  // namespace

extern const OpRecord batch_norm_op;
const OpRecord batch_norm_op = {
    .name = "batch_norm",
    .min_args = 5,
    .max_args = 5,
    .attrs = {{"epsilon", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
