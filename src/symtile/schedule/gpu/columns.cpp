#include "symtile/schedule/gpu/columns.h"

#include <algorithm>

#include "symtile/schedule/gpu/rows.h"

namespace symtile::gpu {
namespace {

/// Shorter sums are done by one work-item; more results than this keep the device busy anyway.
constexpr int64_t kShortest = 64;
constexpr int64_t kManyResults = 1 << 16;

}  // namespace

bool wants_columns(const Stage& stage, const Facts& facts) {
  if (stage.axes.empty()) return false;
  const auto results = facts.lower_bound(extent_of(stage.axes));
  if (results && *results >= kManyResults) return false;
  const std::vector<Expr> reductions = unconditional_reductions(stage.value);
  const std::string& column = stage.axes.back().name;
  for (const Expr& e : reductions) {
    const ReduceExpr& r = *e.as<ReduceExpr>();
    const auto high = facts.upper_bound(extent_of(r.axes));
    if (is_arg_reduction(r.kind) || has_reduction(r.body) || (high && *high < kShortest))
      return false;
    bool any = false;
    for (const Load* l : loads_of(r.body)) {
      for (const Expr& i : l->indices) {
        if (!depends_on(i, column)) continue;
        const auto index = to_dim_expr(i);
        const auto affine = index ? affine_form(*index, {column}) : std::nullopt;
        if (!affine || !affine->coefficient(column).is_const(1)) return false;
        any = true;
      }
    }
    if (!any) return false;
  }
  return !reductions.empty();
}

Stmt column_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                   NameSource& names) {
  const LaunchVars vars(names);
  const int64_t lanes = target.lanes, warps = target.max_threads / target.lanes;
  const std::string warp = names.fresh("part"), lane = names.fresh("column"),
                    cb = names.fresh("cb");
  std::vector<Axis> blocks(stage.axes.begin(), stage.axes.end() - 1);
  const Axis& column = stage.axes.back();
  blocks.push_back({cb, ceildiv(column.extent, lanes)});
  const Expr inside = var(column.name) < to_expr(column.extent);
  const Expr zero(0), me = vars.thread();

  LaunchParts parts;
  parts.threads = static_cast<int>(lanes * warps);
  parts.grid = to_expr(extent_of(blocks));
  std::vector<Buffer> registers;
  std::vector<Stmt> phases;
  const auto barrier = [&] {
    if (warps > 1) phases.push_back(make_stmt(BarrierStmt{Scope::shared}));
  };
  std::vector<std::pair<Expr, Expr>> results;
  for (const Expr& e : unconditional_reductions(stage.value)) {
    const ReduceExpr& r = *e.as<ReduceExpr>();
    const Buffer acc{names.fresh("acc"), r.dtype, {DimExpr(1)}, Scope::local, {}};
    const Buffer slot{names.fresh("tree"), r.dtype, {DimExpr(lanes * warps)}, Scope::shared, {}};
    registers.push_back(acc);
    parts.shared.push_back(slot);
    const std::string k = names.fresh("k");
    const Expr mine = load(acc.name, r.dtype, {zero});
    const Expr value = use_position(r.body, r.axes, k, facts);
    Stmt sum = for_loop(
        k, var(warp), to_expr(extent_of(r.axes)), LoopKind::serial,
        bind_axes(r.axes, var(k), store(acc.name, {zero}, combine(r.kind, mine, value))), warps);
    phases.push_back(only_if(inside, block({store(acc.name, {zero}, identity_of(r.kind, r.dtype)),
                                            sum, store(slot.name, {me}, mine)})));
    barrier();
    for (int64_t half = warps / 2; half >= 1; half /= 2) {
      const Expr merged = combine(r.kind, load(slot.name, r.dtype, {me}),
                                  load(slot.name, r.dtype, {me + Expr(half * lanes)}));
      phases.push_back(only_if(inside && var(warp) < Expr(half), store(slot.name, {me}, merged)));
      if (half > 1) barrier();  // the first warp has the result itself
    }
    results.emplace_back(e, load(slot.name, r.dtype, {var(lane)}));
  }
  Stage done = stage;
  done.value = replace_exactly(stage.value, results);
  phases.push_back(only_if(inside && equal(var(warp), 0), store_point(done, names)));

  Stmt body = block(std::move(phases));
  for (auto it = registers.rbegin(); it != registers.rend(); ++it) body = allocate(*it, body);
  body = let(column.name, var(cb) * Expr(lanes) + var(lane), std::move(body));
  body = bind_axes(blocks, vars.block(), std::move(body));
  parts.body = make_stmt(
      TaskStmt{TaskMapping::spatial({warps, lanes}), vars.thread(), {warp, lane}, std::move(body)});
  return launch(vars, std::move(parts), target, names);
}

}  // namespace symtile::gpu
