#include "symtile/op/nn/norm.h"

#include <cmath>

namespace symtile {

MomentTensors lower_moments(LowerContext& c, DType dtype, const Dims& dims, const Dims& reduced,
                            double epsilon,
                            const std::function<Expr(const Index&, const Index&)>& element) {
  const Expr count = cast(dtype, to_expr(product(reduced)));
  const auto mean_of = [&](const Index& i, const std::function<Expr(Expr)>& body) {
    std::vector<Axis> axes;
    for (const DimExpr& d : reduced) axes.push_back(c.axis("r", d));
    const Expr sum =
        reduce_over(ReduceKind::sum, axes, [&](const Index& r) { return body(element(i, r)); });
    return sum / count;
  };
  const TensorRef mean = c.temporary(
      "mean", dtype, dims, [&](const Index& i) { return mean_of(i, [](Expr e) { return e; }); });
  const TensorRef inverse = c.temporary("inverse", dtype, dims, [&](const Index& i) {
    const Expr variance = mean_of(i, [&](Expr e) {
      const Expr d = e - mean(i);
      return d * d;
    });
    return imm(dtype, 1) / unary(UnaryOp::sqrt, variance + imm(dtype, epsilon));
  });
  return {mean, inverse};
}

Moments moments_of(const std::vector<double>& values, double epsilon) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (double v : values) sum += v;
  const double mean = sum / count;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, 1 / std::sqrt(squares / count + epsilon)};
}

Dims spatial_dims(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

void require_channel_vectors(DeduceContext& c, int first, const DimExpr& extent) {
  for (int i = first; i < c.num_args(); ++i) {
    c.require_dtype(i, is_float_dtype, "a float type");
    c.require_rank(i, 1, 1);
    if (c.rank_known(i))
      c.require_equal(c.dims(i)[0], extent, fmt::format("the length of operand {}", i));
  }
}

}  // namespace symtile
