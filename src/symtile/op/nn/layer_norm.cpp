// Normalises over the axes from `axis` on, then scale and bias: ONNX LayerNormalization-17,
// computed in f32 (f64 for f64). With `stats`, mean and 1 / deviation are results too, of dtype
// `stash`.
#include "symtile/op/nn/axis_index.h"
#include "symtile/op/nn/norm.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Type& x = c.arg(0);
  c.require_dtype(0, is_float_dtype, "a float type");
  const bool stats = c.attrs().get_bool("stats", false);
  const DType stash = c.attrs().has("stash") ? c.attrs().get_dtype("stash") : DType::f32;
  if (!x.has_rank()) {
    if (!stats) return {x};
    return {x, Type::tensor_any_rank(stash), Type::tensor_any_rank(stash)};
  }
  const int axis = c.normalize_axis(c.attrs().get_int("axis", -1), x.rank());
  for (int i = 1; i < c.num_args(); ++i) {
    if (!c.has(i) || !c.rank_known(i)) continue;
    c.require_dtype(i, is_float_dtype, "a float type");
    c.require_rank(i, 0, x.rank());
    // They may only stretch to the argument, never the argument to them.
    const Dims wide = broadcast_dims(c, c.dims(i), c.dims(0));
    for (size_t k = 0; k < wide.size(); ++k) {
      c.require_equal(wide[k], c.dims(0)[k], fmt::format("dimension {} of scale or bias", k));
    }
  }
  if (!stats) return {x};
  Dims dims = *x.dims;
  for (size_t k = static_cast<size_t>(axis); k < dims.size(); ++k) dims[k] = 1;
  return {x, Type::tensor(dims, stash), Type::tensor(dims, stash)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const size_t axis = axis_position(c.attrs(), x.rank(), -1);
  const double epsilon = c.attrs().get_float("epsilon", 1e-5);
  std::vector<int64_t> outer = x.dims;
  for (size_t k = axis; k < outer.size(); ++k) outer[k] = 1;
  RefTensor mean(DType::f32, outer), inverse(DType::f32, outer);
  std::vector<std::vector<double>> lines(static_cast<size_t>(mean.size()));
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    lines[static_cast<size_t>(broadcast_offset(outer, index))].push_back(x.as_double(at++));
  });
  for (size_t k = 0; k < lines.size(); ++k) {
    const Moments m = moments_of(lines[k], epsilon);
    mean.f[k] = m.mean;
    inverse.f[k] = m.inverse;
  }
  RefTensor out(x.dtype, x.dims);
  at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const auto line = static_cast<size_t>(broadcast_offset(outer, index));
    double y = (x.as_double(at) - mean.f[line]) * inverse.f[line];
    y *= c.in(1).as_double(broadcast_offset(c.in(1).dims, index));
    if (c.has(2)) y += c.in(2).as_double(broadcast_offset(c.in(2).dims, index));
    out.set(at++, y);
  });
  c.outputs = {out};
  if (!c.attrs().get_bool("stats", false)) return;
  mean.dtype = inverse.dtype = c.attrs().has("stash") ? c.attrs().get_dtype("stash") : DType::f32;
  c.outputs.push_back(mean);
  c.outputs.push_back(inverse);
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const auto axis = static_cast<std::ptrdiff_t>(axis_position(c.attrs(), x.rank(), -1));
  const DType dtype = compute_dtype(x.dtype());
  const Dims outer(x.dims().begin(), x.dims().begin() + axis);
  const Dims inner(x.dims().begin() + axis, x.dims().end());
  const MomentTensors m = lower_moments(
      c, dtype, outer, inner, c.attrs().get_float("epsilon", 1e-5), [&](Index i, const Index& r) {
        i.insert(i.end(), r.begin(), r.end());
        return widen(x(i));
      });
  c.compute(0, [&](const Index& i) {
    const Index line(i.begin(), i.begin() + axis);
    Expr y = (widen(x(i)) - m.mean(line)) * m.inverse(line);
    y = y * cast(dtype, c.load_broadcast(c.in(1), i, c.out_dims()));
    return c.has(2) ? y + cast(dtype, c.load_broadcast(c.in(2), i, c.out_dims())) : y;
  });
  if (c.num_results() == 1) return;
  c.compute(1, [&](const Index& i) { return m.mean({i.begin(), i.begin() + axis}); });
  c.compute(2, [&](const Index& i) { return m.inverse({i.begin(), i.begin() + axis}); });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out;
  const auto add = [&](Dims dims, Dims scale, DType t, Attributes attrs, DimValues symbols,
                       bool bias = true) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), t), Type::tensor(scale, t)};
    if (bias) s.input_types.push_back(Type::tensor(scale, t));
    s.symbols = std::move(symbols);
    s.attrs = std::move(attrs);
    s.tolerance = 10 * sample_tolerance(t);
    out.push_back(std::move(s));
  };
  add({2, 3, 16}, {16}, DType::f32, {}, {});
  add({n, m, 24}, {24}, DType::f32, {{"stats", int64_t{1}}}, {{"n", 2}, {"m", 5}});
  add({n, 3, m}, {3, m}, DType::f32, {{"axis", int64_t{1}}}, {{"n", 2}, {"m", 7}}, false);
  add({n, 8}, {8}, DType::f16, {{"epsilon", 1e-3}}, {{"n", 3}});
  add({n, 8}, {8}, DType::f32, {}, {{"n", 0}});
  return out;
}

}  // namespace

extern const OpRecord layer_norm_op;
const OpRecord layer_norm_op = {
    .name = "layer_norm",
    .min_args = 2,
    .max_args = 3,
    .attrs = {{"axis", AttrSpec::Kind::integer},
              {"epsilon", AttrSpec::Kind::real},
              {"stats", AttrSpec::Kind::integer},
              {"stash", AttrSpec::Kind::dtype}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
