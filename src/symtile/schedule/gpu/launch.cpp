#include "symtile/schedule/gpu/launch.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/ir/expr_node.h"

namespace symtile::gpu {

Stmt launch(const LaunchVars& vars, LaunchParts parts, const GpuTarget& target, NameSource& names) {
  const std::string lane = names.fresh("lane");
  Stmt body;
  if (parts.threads <= target.lanes) {
    body = for_loop(lane, 0, Expr(parts.threads), LoopKind::warp_lane,
                    let(vars.thread_name, var(lane), std::move(parts.body)));
  } else {
    SYMTILE_CHECK(parts.threads % target.lanes == 0, "{} work-items are no whole warps",
                  parts.threads);
    const std::string warp = names.fresh("warp");
    body = for_loop(
        lane, 0, Expr(target.lanes), LoopKind::warp_lane,
        let(vars.thread_name, var(warp) * Expr(target.lanes) + var(lane), std::move(parts.body)));
    body = for_loop(warp, 0, Expr(parts.threads / target.lanes), LoopKind::block_warp,
                    std::move(body));
  }
  for (auto it = parts.shared.rbegin(); it != parts.shared.rend(); ++it)
    body = allocate(*it, std::move(body));
  return for_loop(vars.block_name, 0, std::move(parts.grid), LoopKind::grid_block, std::move(body));
}

bool mentions(const Stmt& s, const std::string& variable) {
  bool found = false;
  visit(s, [](const Stmt&) {}, [&](const Expr& e) { found = found || depends_on(e, variable); });
  return found;
}

Stmt bind_axes(const std::vector<Axis>& axes, const Expr& position, Stmt body) {
  if (axes.empty()) return body;
  for (const auto& [name, value] : decode_axes(axes, position)) {
    if (mentions(body, name)) body = let(name, value, std::move(body));
  }
  return body;
}

Expr use_position(const Expr& e, const std::vector<Axis>& axes, const std::string& position,
                  const Facts& facts) {
  if (axes.empty()) return e;
  return rewrite(e, [&](const Expr& x) {
    if (!x.as<Load>()) return x;
    MergedExpr merged = merge_axes(x, axes, position, facts);
    return merged.direct ? merged.value : x;
  });
}

Stmt only_if(Expr condition, Stmt body) {
  if (const auto known = condition.as_int(); known && *known) return body;
  return make_stmt(IfStmt{std::move(condition), std::move(body), nullptr});
}

Buffer PointEvaluator::accumulator(DType dtype) {
  Buffer b{names_.fresh("acc"), dtype, {DimExpr(1)}, Scope::local, {}};
  buffers_.push_back(b);
  return b;
}

Expr PointEvaluator::evaluate(const Expr& e) {
  if (!has_reduction(e)) return e;
  for (const auto& [reduction, result] : known_) {
    if (structurally_equal(reduction, e)) return result;
  }
  if (const auto* r = e.as<ReduceExpr>()) {
    Expr result = evaluate_reduction(*r);
    known_.emplace_back(e, result);
    return result;
  }
  if (const auto* s = e.as<SelectExpr>();
      s && (has_reduction(s->then_value) || has_reduction(s->else_value))) {
    return evaluate_select(*s);
  }
  return map_children(e, [&](const Expr& child) { return evaluate(child); });
}

Expr PointEvaluator::evaluate_select(const SelectExpr& s) {
  const Expr condition = evaluate(s.condition);
  const Buffer result = accumulator(s.dtype);
  const auto branch = [&](const Expr& value) {
    PointEvaluator inner(names_);
    const Expr out = inner.evaluate(value);
    inner.append(store(result.name, {Expr(0)}, out));
    return inner.finish();
  };
  append(make_stmt(IfStmt{condition, branch(s.then_value), branch(s.else_value)}));
  return load(result.name, s.dtype, {Expr(0)});
}

Expr beats(ReduceKind kind, const Expr& value, const Expr& position, const Expr& best,
           const Expr& best_position) {
  const bool last = kind == ReduceKind::argmax_last || kind == ReduceKind::argmin_last;
  const bool maximum = kind == ReduceKind::argmax || kind == ReduceKind::argmax_last;
  const Expr closer = last ? best_position < position : position < best_position;
  const Expr better = maximum ? value > best : value < best;
  if (!is_float(value.dtype())) return better || (equal(value, best) && closer);
  const Expr nan = unary(UnaryOp::isnan, value), best_nan = unary(UnaryOp::isnan, best);
  // A NaN is best; among equals the position decides.
  const Expr tie = equal(value, best) || (nan && best_nan);
  return (nan && !best_nan) || (better && !best_nan) || (tie && closer);
}

Expr PointEvaluator::evaluate_reduction(const ReduceExpr& r) {
  PointEvaluator inner(names_);
  const Expr zero(0);
  if (!is_arg_reduction(r.kind)) {
    const Buffer acc = accumulator(r.dtype);
    const Expr now = load(acc.name, r.dtype, {zero});
    append(store(acc.name, {zero}, identity_of(r.kind, r.dtype)));
    const Expr body = inner.evaluate(r.body);
    inner.append(store(acc.name, {zero}, combine(r.kind, now, body)));
    append(serial_nest(r.axes, inner.finish()));
    return now;
  }
  const DType type = r.body.dtype();
  const Buffer best = accumulator(type), position = accumulator(DType::i64);
  const Expr at = var(r.axes[0].name);
  append(store(position.name, {zero}, zero));
  const Expr value = inner.evaluate(r.body);
  const std::string x = names_.fresh("x");
  const Expr old = load(position.name, DType::i64, {zero});
  const Expr wins = select(equal(at, zero), bool_imm(true),
                           beats(r.kind, var(x, type), at, load(best.name, type, {zero}), old));
  inner.append(let(x, value,
                   only_if(wins, block({store(best.name, {zero}, var(x, type)),
                                        store(position.name, {zero}, at)}))));
  append(serial_nest(r.axes, inner.finish()));
  return old;
}

Stmt PointEvaluator::finish() {
  Stmt out = block(std::move(stmts_));
  for (auto it = buffers_.rbegin(); it != buffers_.rend(); ++it) out = allocate(*it, out);
  stmts_.clear();
  buffers_.clear();
  known_.clear();
  return out;
}

Stmt store_point(const Stage& stage, NameSource& names) {
  PointEvaluator evaluator(names);
  const Expr value = evaluator.evaluate(stage.value);
  evaluator.append(store(stage.buffer, stage.indices, value));
  return evaluator.finish();
}

namespace {
void collect_unconditional(const Expr& e, std::vector<Expr>& out) {
  if (e.as<ReduceExpr>()) {
    const bool seen = std::any_of(out.begin(), out.end(),
                                  [&](const Expr& x) { return structurally_equal(x, e); });
    if (!seen) out.push_back(e);
    return;
  }
  if (const auto* s = e.as<SelectExpr>()) return collect_unconditional(s->condition, out);
  for_each_child(e, [&](const Expr& child) { collect_unconditional(child, out); });
}
}  // namespace

std::vector<Expr> unconditional_reductions(const Expr& e) {
  std::vector<Expr> out;
  collect_unconditional(e, out);
  return out;
}

Expr replace_exactly(const Expr& e, const std::vector<std::pair<Expr, Expr>>& map) {
  for (const auto& [from, to] : map) {
    if (structurally_equal(e, from)) return to;
  }
  return map_children(e, [&](const Expr& child) { return replace_exactly(child, map); });
}

Stmt with_workspace(const std::vector<Buffer>& workspace, Stmt body) {
  for (auto it = workspace.rbegin(); it != workspace.rend(); ++it) {
    Buffer b = *it;
    b.scope = Scope::scratch;
    for (DimExpr& d : b.dims) d = d.is_const(0) ? DimExpr(1) : d;
    body = allocate(b, std::move(body));
  }
  return body;
}

std::optional<int64_t> constant_size(const Buffer& b) { return product(b.dims).as_const(); }

}  // namespace symtile::gpu
