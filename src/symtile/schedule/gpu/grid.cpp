#include "symtile/schedule/gpu/grid.h"

namespace symtile::gpu {

Stmt grid_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                 NameSource& names) {
  const DimExpr total = extent_of(stage.axes);
  LaunchParts parts;
  parts.threads = target.max_threads;
  if (const auto known = total.as_const()) {
    // A block of few elements needs one warp only.
    while (parts.threads > target.lanes && *known <= parts.threads / 2) parts.threads /= 2;
  }
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
  Stmt body = bind_axes(stage.axes, var(element), store_point(point, names));
  body = let(element, vars.block() * Expr(parts.threads) + vars.thread(),
             only_if(var(element) < to_expr(total), std::move(body)));
  parts.grid = to_expr(ceildiv(total, parts.threads));
  parts.body = std::move(body);
  return launch(vars, std::move(parts), target, names);
}

}  // namespace symtile::gpu
