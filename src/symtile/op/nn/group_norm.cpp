// Normalises every one of `num_groups` groups of channels (axis 1) over the group and the spatial
// axes; scale and bias a channel (ONNX GroupNormalization-21) or, with `per_group`, a group (-18).
#include "symtile/op/nn/norm.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_rank(0, 2, 1 << 20);
  const int64_t groups = c.attrs().get_int("num_groups");
  if (groups < 1) c.fail(DiagId::bad_attribute, "num_groups must be at least 1, not {}", groups);
  const DimExpr channels = c.rank_known(0) ? c.dims(0)[1] : DimExpr::unknown();
  if (!channels.is_unknown()) {
    c.require_equal(
        floormod(channels, groups), 0,
        fmt::format("the remainder of {} channels in {} groups", channels.str(), groups));
  }
  require_channel_vectors(c, 1,
                          c.attrs().get_bool("per_group", false) ? DimExpr(groups) : channels);
  return deduce_float_unary(c);
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const int64_t groups = c.attrs().get_int("num_groups");
  const bool per_group = c.attrs().get_bool("per_group", false);
  RefTensor& out = c.out(x.dtype, x.dims);
  if (out.size() == 0) return;
  const int64_t channels = x.dims[1];
  const int64_t lines = x.dims[0] * groups, length = x.size() / lines;
  const int64_t spatial = x.size() / (x.dims[0] * channels);
  for (int64_t line = 0; line < lines; ++line) {
    const auto first = x.f.begin() + line * length;
    const Moments m = moments_of({first, first + length}, c.attrs().get_float("epsilon", 1e-5));
    for (int64_t k = line * length; k < (line + 1) * length; ++k) {
      const int64_t which = per_group ? line % groups : k / spatial % channels;
      const double y = (x.as_double(k) - m.mean) * m.inverse;
      out.set(k, y * c.in(1).as_double(which) + c.in(2).as_double(which));
    }
  }
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const DType dtype = compute_dtype(x.dtype());
  const int64_t groups = c.attrs().get_int("num_groups");
  const bool per_group = c.attrs().get_bool("per_group", false);
  const DimExpr size = floordiv(x.dims()[1], groups);  // channels of a group
  Dims reduced = {size};
  for (const DimExpr& d : spatial_dims(x.dims())) reduced.push_back(d);
  const MomentTensors m =
      lower_moments(c, dtype, {x.dims()[0], groups}, reduced, c.attrs().get_float("epsilon", 1e-5),
                    [&](const Index& i, const Index& r) {
                      Index at = {i[0], i[1] * to_expr(size) + r[0]};
                      at.insert(at.end(), r.begin() + 1, r.end());
                      return widen(x(at));
                    });
  c.compute(0, [&](const Index& i) {
    const Expr group = groups == 1 ? Expr(0) : floordiv(i[1], to_expr(size));
    const Expr which = per_group ? group : i[1];
    const Expr scale = cast(dtype, c.in(1)({which})), bias = cast(dtype, c.in(2)({which}));
    return (widen(x(i)) - m.mean({i[0], group})) * m.inverse({i[0], group}) * scale + bias;
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), h = DimExpr::symbol("h"), k = DimExpr::symbol("k");
  std::vector<OpSample> out;
  const auto add = [&](Dims dims, DimExpr channels, int64_t groups, Attributes attrs,
                       DimValues symbols) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), DType::f32),
                     Type::tensor({channels}, DType::f32), Type::tensor({channels}, DType::f32)};
    s.symbols = std::move(symbols);
    s.attrs = std::move(attrs);
    s.attrs.set("num_groups", groups);
    s.attrs.set("epsilon", 1e-2);
    s.tolerance = 1e-4;
    out.push_back(std::move(s));
  };
  add({1, 4, 2, 2}, 4, 1, {}, {});
  add({n, 3 * k, h, 5}, 3 * k, 3, {}, {{"n", 2}, {"k", 2}, {"h", 4}});
  add({n, 6, h}, 2, 2, {{"per_group", int64_t{1}}}, {{"n", 3}, {"h", 5}});
  add({n, 6, h}, 6, 6, {}, {{"n", 0}, {"h", 5}});
  return out;
}

}  // namespace

extern const OpRecord group_norm_op;
const OpRecord group_norm_op = {
    .name = "group_norm",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"num_groups", AttrSpec::Kind::integer, true},
              {"epsilon", AttrSpec::Kind::real},
              {"per_group", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
