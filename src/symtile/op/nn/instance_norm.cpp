// Normalises every channel (axis 1) of every batch entry over the spatial axes, then scale and bias
// a channel: ONNX InstanceNormalization-22, computed in f32 (f64 for f64).
#include "symtile/op/nn/norm.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_rank(0, 2, 1 << 20);
  require_channel_vectors(c, 1, c.rank_known(0) ? c.dims(0)[1] : DimExpr::unknown());
  return deduce_float_unary(c);
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const double epsilon = c.attrs().get_float("epsilon", 1e-5);
  std::vector<int64_t> outer = x.dims;
  for (size_t k = 2; k < outer.size(); ++k) outer[k] = 1;
  RefTensor& out = c.out(x.dtype, x.dims);
  if (out.size() == 0) return;
  const int64_t lines = outer[0] * outer[1], length = x.size() / lines;
  for (int64_t line = 0; line < lines; ++line) {
    const auto first = x.f.begin() + line * length;
    const Moments m = moments_of({first, first + length}, epsilon);
    const double scale = c.in(1).as_double(line % outer[1]),
                 bias = c.in(2).as_double(line % outer[1]);
    for (int64_t k = line * length; k < (line + 1) * length; ++k) {
      out.set(k, (x.as_double(k) - m.mean) * m.inverse * scale + bias);
    }
  }
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const DType dtype = compute_dtype(x.dtype());
  const MomentTensors m =
      lower_moments(c, dtype, {x.dims()[0], x.dims()[1]}, spatial_dims(x.dims()),
                    c.attrs().get_float("epsilon", 1e-5), [&](Index i, const Index& r) {
                      i.insert(i.end(), r.begin(), r.end());
                      return widen(x(i));
                    });
  c.compute(0, [&](const Index& i) {
    const Expr scale = cast(dtype, c.in(1)({i[1]})), bias = cast(dtype, c.in(2)({i[1]}));
    return (widen(x(i)) - m.mean({i[0], i[1]})) * m.inverse({i[0], i[1]}) * scale + bias;
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), h = DimExpr::symbol("h"), ch = DimExpr::symbol("c");
  std::vector<OpSample> out;
  const auto add = [&](Dims dims, DimExpr channels, DType t, DimValues symbols) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), t), Type::tensor({channels}, t),
                     Type::tensor({channels}, t)};
    s.symbols = std::move(symbols);
    s.attrs = {{"epsilon", 1e-2}};
    s.tolerance = 10 * sample_tolerance(t);
    out.push_back(std::move(s));
  };
  add({2, 3, 4, 5}, 3, DType::f32, {});
  add({n, ch, h, 7}, ch, DType::f32, {{"n", 2}, {"c", 3}, {"h", 5}});
  add({n, 2, h}, 2, DType::f16, {{"n", 2}, {"h", 9}});
  add({n, 2, h}, 2, DType::f32, {{"n", 0}, {"h", 9}});
  return out;
}

}  // namespace

extern const OpRecord instance_norm_op;
const OpRecord instance_norm_op = {
    .name = "instance_norm",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"epsilon", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
