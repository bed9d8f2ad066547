// x / sqrt(mean of squares + epsilon) over the axes from `axis` on, times scale: ONNX
// RMSNormalization-23, computed in f32 (f64 for f64).
#include <cmath>

#include "symtile/op/nn/axis_index.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float_dtype, "a float type");
  c.require_dtype(1, is_float_dtype, "a float type");
  if (!c.rank_known(0)) return {c.arg(0)};
  c.normalize_axis(c.attrs().get_int("axis", -1), c.rank(0));
  if (c.rank_known(1)) {
    c.require_rank(1, 0, c.rank(0));
    const Dims wide = broadcast_dims(c, c.dims(1), c.dims(0));
    for (size_t k = 0; k < wide.size(); ++k) {
      c.require_equal(wide[k], c.dims(0)[k], fmt::format("dimension {} of the scale", k));
    }
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& scale = c.in(1);
  const size_t axis = axis_position(c.attrs(), x.rank(), -1);
  const double epsilon = c.attrs().get_float("epsilon", 1e-5);
  std::vector<int64_t> outer = x.dims;
  double count = 1;
  for (size_t k = axis; k < outer.size(); ++k) {
    count *= static_cast<double>(outer[k]);
    outer[k] = 1;
  }
  RefTensor squares(DType::f64, outer);
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const double v = x.as_double(at++);
    squares.f[static_cast<size_t>(broadcast_offset(outer, index))] += v * v;
  });
  RefTensor& out = c.out(x.dtype, x.dims);
  at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const double mean = squares.f[static_cast<size_t>(broadcast_offset(outer, index))] / count;
    const double factor = scale.as_double(broadcast_offset(scale.dims, index));
    out.set(at, x.as_double(at) / std::sqrt(mean + epsilon) * factor);
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const auto axis = static_cast<std::ptrdiff_t>(axis_position(c.attrs(), x.rank(), -1));
  const DType dtype = compute_dtype(x.dtype());
  const Dims outer(x.dims().begin(), x.dims().begin() + axis);
  const Dims inner(x.dims().begin() + axis, x.dims().end());
  const TensorRef inverse = c.temporary("inverse", dtype, outer, [&](const Index& i) {
    std::vector<Axis> axes;
    for (const DimExpr& d : inner) axes.push_back(c.axis("r", d));
    const Expr sum = reduce_over(ReduceKind::sum, axes, [&](const Index& r) {
      Index at = i;
      at.insert(at.end(), r.begin(), r.end());
      const Expr e = widen(x(at));
      return e * e;
    });
    const Expr mean = sum / cast(dtype, to_expr(product(inner)));
    return imm(dtype, 1) /
           unary(UnaryOp::sqrt, mean + imm(dtype, c.attrs().get_float("epsilon", 1e-5)));
  });
  c.compute(0, [&](const Index& i) {
    const Expr y = widen(x(i)) * inverse({i.begin(), i.begin() + axis});
    return y * cast(dtype, c.load_broadcast(c.in(1), i, c.out_dims()));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out(3);
  out[0].input_types = {Type::tensor({2, 16}, DType::f32), Type::tensor({16}, DType::f32)};
  out[1].input_types = {Type::tensor({n, m, 24}, DType::f32), Type::tensor({m, 24}, DType::f32)};
  out[1].attrs = {{"axis", int64_t{1}}};
  out[1].symbols = {{"n", 2}, {"m", 5}};
  out[2].input_types = {Type::tensor({n, 8}, DType::f16), Type::tensor({8}, DType::f16)};
  out[2].symbols = {{"n", 3}};
  out[2].tolerance = sample_tolerance(DType::f16);
  return out;
}

}  // namespace

extern const OpRecord rms_norm_op;
const OpRecord rms_norm_op = {
    .name = "rms_norm",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"axis", AttrSpec::Kind::integer}, {"epsilon", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
