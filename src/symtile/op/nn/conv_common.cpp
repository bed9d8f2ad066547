#include <algorithm>

#include "symtile/op/nn/conv.h"

namespace symtile {

std::optional<Dims> deduce_conv_dims(DeduceContext& c) {
  if (!c.rank_known(0) && !c.rank_known(1)) return std::nullopt;
  const int rank = c.rank_known(0) ? c.rank(0) : c.rank(1);
  c.require_rank(0, 3, 1 << 20);
  c.require_rank(1, rank, rank);
  check_window(c, rank - 2);
  Dims out(static_cast<size_t>(rank), DimExpr::unknown());
  if (c.rank_known(0)) out[0] = c.dims(0)[0];
  if (!c.rank_known(1)) return out;
  const Dims& w = c.dims(1);
  out[1] = w[0];
  if (!c.rank_known(0)) return out;
  const Dims& x = c.dims(0);
  const int64_t group = c.attrs().get_int("group", 1);
  if (group < 1) c.fail(DiagId::bad_attribute, "group is {}, must be at least 1", group);
  c.require_equal(x[1], w[1] * group, "the input channels and the weight's channels times group");
  if (const auto channels = w[0].as_const(); channels && *channels % group != 0) {
    c.fail(DiagId::shape_mismatch, "{} output channels cannot be split into {} groups", *channels,
           group);
  }
  const Window window = window_from(c.attrs(), Dims(w.begin() + 2, w.end()));
  const Dims spatial = window_extents(c, window, x);
  std::copy(spatial.begin(), spatial.end(), out.begin() + 2);
  return out;
}

ConcreteWindow conv_window(const EvalContext& c) {
  const std::vector<int64_t>& w = c.in(1).dims;
  return concrete_window(c, std::vector<int64_t>(w.begin() + 2, w.end()), c.in(0).dims);
}

std::vector<int64_t> conv_extents(const EvalContext& c, const ConcreteWindow& window) {
  std::vector<int64_t> dims = {c.in(0).dims[0], c.in(1).dims[0]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  return dims;
}

void for_each_conv_tap(const EvalContext& c, const std::vector<int64_t>& index,
                       const ConcreteWindow& window, const std::function<void(const ConvTap&)>& f) {
  const std::vector<int64_t>&x = c.in(0).dims, &w = c.in(1).dims;
  const int64_t group = c.attrs().get_int("group", 1);
  const int64_t g = index[1] / (w[0] / group);
  for (int64_t ic = 0; ic < w[1]; ++ic) {
    const int64_t x_base = index[0] * x[1] + g * w[1] + ic;
    const int64_t w_base = index[1] * w[1] + ic;
    for_each_index(window.kernel, [&](const std::vector<int64_t>& t) {
      ConvTap tap{x_base, w_base};
      for (size_t k = 0; k < t.size(); ++k) {
        const int64_t at = window.position(k, index[k + 2], t[k]);
        tap.w = tap.w * window.kernel[k] + t[k];
        if (tap.x >= 0) tap.x = at < 0 || at >= window.in[k] ? -1 : tap.x * window.in[k] + at;
      }
      f(tap);
    });
  }
}

Expr conv_sum(LowerContext& c, const Index& index,
              const std::function<Expr(const Index&, const Expr&)>& data,
              const std::function<Expr(const Index&)>& weight) {
  const Dims& x = c.in(0).dims();
  const Dims& w = c.in(1).dims();
  const Window window = window_from(c.attrs(), Dims(w.begin() + 2, w.end()));
  const int64_t group = c.attrs().get_int("group", 1);
  std::vector<Axis> axes = {c.axis("ic", w[1])};
  for (int k = 0; k < window.spatial(); ++k) {
    axes.push_back(c.axis("k", window.kernel[static_cast<size_t>(k)]));
  }
  return reduce_over(ReduceKind::sum, axes, [&](const Index& tap) {
    Expr channel = tap[0];
    if (group != 1) {
      channel = floordiv(index[1], to_expr(floordiv(w[0], group))) * to_expr(w[1]) + tap[0];
    }
    Index x_at = {index[0], channel};
    Index w_at = {index[1], tap[0]};
    Expr in_bounds;
    for (int k = 0; k < window.spatial(); ++k) {
      const auto a = static_cast<size_t>(k);
      const Expr at = window.position(k, index[a + 2], tap[a + 1]);
      in_bounds = and_also(in_bounds, window.guard(k, at, x[a + 2], c.facts()));
      x_at.push_back(at);
      w_at.push_back(tap[a + 1]);
    }
    return data(x_at, in_bounds) * weight(w_at);
  });
}

}  // namespace symtile
