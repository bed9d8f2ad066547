#include "symtile/schedule/gpu/grid.h"

#include <algorithm>

namespace symtile::gpu {
namespace {

/// True when neighbouring elements need no decoding of the axes and lie side by side wherever they
/// are read or written: they may be moved as vectors.
bool moves_vectors(const Stage& point, const std::vector<Axis>& axes, const std::string& element) {
  if (axes.empty() || has_reduction(point.value) || point.indices.size() != 1) return false;
  if (depends_on_any(point.value, axes) || depends_on_any(point.indices[0], axes)) return false;
  bool side_by_side = true;
  const auto check = [&](const Expr& index) {
    if (!depends_on(index, element)) return;
    const auto dim = to_dim_expr(index);
    const auto affine = dim ? affine_form(*dim, {element}) : std::nullopt;
    side_by_side = side_by_side && affine && affine->coefficient(element).is_const(1);
  };
  check(point.indices[0]);
  const std::vector<const Load*> loads = loads_of(point.value);
  for (const Load* l : loads) check(l->indices[0]);
  return side_by_side && depends_on(point.indices[0], element) && !loads.empty();
}

/// How many elements of the widest type at hand a lane moves at once.
int64_t vector_of(const Stage& point, const GpuTarget& target) {
  int64_t bytes = size_of(point.value.dtype());
  for (const Load* l : loads_of(point.value)) bytes = std::max<int64_t>(bytes, size_of(l->dtype));
  int64_t out = 1;
  while (out < 16 && out * 2 * bytes <= target.vector_bytes) out *= 2;
  return out;
}

}  // namespace

Stmt grid_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                 NameSource& names) {
  const DimExpr total = extent_of(stage.axes);
  LaunchParts parts;
  parts.threads = target.max_threads;
  const LaunchVars vars(names);
  const std::string element = names.fresh("element");
  Stage point = stage;
  point.value = use_position(stage.value, stage.axes, element, facts);
  for (Expr& i : point.indices) i = use_position(i, stage.axes, element, facts);
  if (point.indices.size() == 1) {
    // The store's own address is linear in the row-major order, if it can be told.
    const MergedExpr merged =
        stage.axes.empty()
            ? MergedExpr{load("_", DType::i64, point.indices), true}
            : merge_axes(load("_", DType::i64, point.indices), stage.axes, element, facts);
    if (merged.direct) point.indices = merged.value.as<Load>()->indices;
  }
  int64_t vector = moves_vectors(point, stage.axes, element) ? vector_of(point, target) : 1;
  if (const auto known = total.as_const()) {
    // A block of few elements needs one warp only, and few elements are better spread out.
    while (vector > 1 && *known < vector * parts.threads) vector /= 2;
    while (parts.threads > target.lanes && *known <= parts.threads / 2) parts.threads /= 2;
  }
  const Expr mine = vars.block() * Expr(parts.threads) + vars.thread();
  const Expr end = to_expr(total);
  Stmt body;
  if (vector > 1) {
    const std::string first = names.fresh("first"), v = names.fresh("v"), w = names.fresh("v");
    const auto one = [&](const std::string& lane) {
      return substitute(store(point.buffer, point.indices, point.value),
                        {{element, var(first) + var(lane)}});
    };
    Stmt whole = for_loop(v, 0, Expr(vector), LoopKind::vectorized, one(v));
    Stmt edge =
        for_loop(w, 0, Expr(vector), LoopKind::serial, only_if(var(first) + var(w) < end, one(w)));
    body =
        let(first, mine * Expr(vector),
            make_stmt(IfStmt{var(first) + Expr(vector) <= end, std::move(whole), std::move(edge)}));
  } else {
    body = bind_axes(stage.axes, var(element), store_point(point, names));
    body = let(element, mine, only_if(var(element) < end, std::move(body)));
  }
  parts.grid = to_expr(ceildiv(total, parts.threads * vector));
  parts.body = std::move(body);
  return launch(vars, std::move(parts), target, names);
}

}  // namespace symtile::gpu
