#include <algorithm>

#include "symtile/op/nn/pool.h"

namespace symtile {
namespace {

Dims as_dims(const std::vector<int64_t>& values) { return Dims(values.begin(), values.end()); }

}  // namespace

std::vector<AttrSpec> pool_attrs(std::vector<AttrSpec> more) {
  more.push_back({"kernel", AttrSpec::Kind::integers, true});
  more.push_back({"ceil_mode", AttrSpec::Kind::integer});
  return window_attrs(std::move(more));
}

std::optional<Dims> deduce_pool_dims(DeduceContext& c) {
  const std::vector<int64_t> kernel = c.attrs().get_ints("kernel");
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1; })) {
    c.fail(DiagId::bad_attribute, "every extent of the kernel must be at least 1");
  }
  const int rank = static_cast<int>(kernel.size()) + 2;
  c.require_rank(0, rank, rank);
  check_window(c, rank - 2);
  if (!c.rank_known(0)) return Dims(static_cast<size_t>(rank), DimExpr::unknown());
  const Dims& x = c.dims(0);
  Dims out = {x[0], x[1]};
  const Dims spatial = window_extents(c, pool_window(c.attrs()), x);
  out.insert(out.end(), spatial.begin(), spatial.end());
  return out;
}

Window pool_window(const Attributes& attrs) {
  return window_from(attrs, as_dims(attrs.get_ints("kernel")));
}

ConcreteWindow pool_window(const EvalContext& c) {
  return concrete_window(c, c.attrs().get_ints("kernel"), c.in(0).dims);
}

std::vector<int64_t> pool_extents(const EvalContext& c, const ConcreteWindow& window) {
  std::vector<int64_t> dims = {c.in(0).dims[0], c.in(0).dims[1]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  return dims;
}

void for_each_pool_tap(const EvalContext& c, const std::vector<int64_t>& index,
                       const ConcreteWindow& window,
                       const std::function<void(int64_t, const std::vector<int64_t>&)>& f) {
  const int64_t base = index[0] * c.in(0).dims[1] + index[1];
  for_each_index(window.kernel, [&](const std::vector<int64_t>& t) {
    int64_t flat = base;
    for (size_t k = 0; k < t.size(); ++k) {
      const int64_t at = window.position(k, index[k + 2], t[k]);
      if (flat >= 0) flat = at < 0 || at >= window.in[k] ? -1 : flat * window.in[k] + at;
    }
    f(flat, t);
  });
}

Expr pool_reduce(LowerContext& c, ReduceKind kind, const Index& index,
                 const std::function<Expr(const Index&, const Expr&)>& value) {
  const Dims& x = c.in(0).dims();
  const Window window = pool_window(c.attrs());
  std::vector<Axis> axes;
  for (const DimExpr& k : window.kernel) axes.push_back(c.axis("k", k));
  return reduce_over(kind, axes, [&](const Index& tap) {
    Index at = {index[0], index[1]};
    Expr in_bounds;
    for (int k = 0; k < window.spatial(); ++k) {
      const auto a = static_cast<size_t>(k);
      at.push_back(window.position(k, index[a + 2], tap[a]));
      in_bounds = and_also(in_bounds, window.guard(k, at.back(), x[a + 2], c.facts()));
    }
    return value(at, in_bounds);
  });
}

}  // namespace symtile
