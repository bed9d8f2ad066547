#include "symtile/schedule/gpu/scan.h"

#include <algorithm>

namespace symtile::gpu {
namespace {

/// Lines known to be no longer than this are left to one work-item each.
constexpr int64_t kShort = 32;
/// Neighbours that a work-item combines at a time.
constexpr int64_t kEach = 4;

bool associative(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::mul || op == BinaryOp::min || op == BinaryOp::max;
}

bool is_variable(const Expr& e, const std::string& name) {
  const auto* v = e.as<VarRef>();
  return v && v->name == name;
}

/// The loops around a store, all of them from 0 by 1 to extents that know nothing of each other.
std::optional<std::vector<Axis>> loops_around(const Stmt& s, const StoreStmt*& innermost) {
  std::vector<Axis> out;
  Stmt at = s;
  while (const auto* loop = as<ForStmt>(at)) {
    const auto end = to_dim_expr(loop->end);
    const bool plain = loop->kind == LoopKind::parallel || loop->kind == LoopKind::serial;
    if (!plain || !loop->begin.is_int(0) || loop->step != 1 || !end) return std::nullopt;
    for (const Axis& outer : out) {
      if (outer.name == loop->var || end->symbols().count(outer.name)) return std::nullopt;
    }
    out.push_back({loop->var, *end});
    at = loop->body;
  }
  innermost = as<StoreStmt>(at);
  return innermost ? std::optional(out) : std::nullopt;
}

/// The axis along which the store reads the element before: i in select(i > 0, ...).
std::optional<size_t> scanned_axis(const SelectExpr& before, const std::vector<Axis>& axes) {
  const auto* after_first = before.condition.as<BinaryExpr>();
  if (!after_first || after_first->op != BinaryOp::gt || !after_first->b.is_int(0))
    return std::nullopt;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (is_variable(after_first->a, axes[d].name)) return d;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Scan> match_scan(const Stmt& s, const Facts& facts) {
  const StoreStmt* st = nullptr;
  const auto axes = loops_around(s, st);
  if (!axes || axes->size() != st->indices.size()) return std::nullopt;
  const auto* step = st->value.as<BinaryExpr>();
  const auto* before = step ? step->a.as<SelectExpr>() : nullptr;
  const auto* last = before ? before->then_value.as<Load>() : nullptr;
  if (!last || !associative(step->op) || last->buffer != st->buffer) return std::nullopt;
  const auto axis = scanned_axis(*before, *axes);
  if (!axis) return std::nullopt;
  Scan out;
  out.buffer = st->buffer;
  out.here = st->indices;
  out.along = (*axes)[*axis];
  out.op = step->op;
  out.start = before->else_value;
  out.element = step->b;
  // Every line is one of its own: each other variable is an index, and the scanned one is in one
  // place only.
  size_t places = 0;
  for (const Expr& i : out.here) places += depends_on(i, out.along.name) ? 1 : 0;
  if (places != 1 || has_reduction(out.element)) return std::nullopt;
  for (size_t d = 0; d < axes->size(); ++d) {
    if (d == *axis) continue;
    const std::string& name = (*axes)[d].name;
    out.lines.push_back((*axes)[d]);
    const auto is_index = [&](const Expr& i) { return is_variable(i, name); };
    if (std::none_of(out.here.begin(), out.here.end(), is_index)) return std::nullopt;
  }
  // One step before, in the same line; and nothing else is read of what is written.
  for (size_t i = 0; i < out.here.size(); ++i) {
    const Expr expected =
        substitute(out.here[i], {{out.along.name, var(out.along.name) - Expr(1)}});
    if (!structurally_equal(expected, last->indices[i])) return std::nullopt;
  }
  for (const Load* l : loads_of(out.element)) {
    if (l->buffer == out.buffer) return std::nullopt;
  }
  if (!loads_of(out.start).empty() || depends_on_any(out.start, *axes)) return std::nullopt;
  if (facts.proves_le(out.along.extent, kShort)) return std::nullopt;
  return out;
}

Stmt scan_launch(const Scan& scan, const Facts& facts, const GpuTarget& target, NameSource& names) {
  const DType type = scan.start.dtype();
  const LaunchVars vars(names);
  LaunchParts parts;
  parts.threads = target.max_threads;
  if (const auto most = facts.upper_bound(scan.along.extent)) {
    while (parts.threads > target.lanes && *most <= parts.threads * kEach / 2) parts.threads /= 2;
  }
  parts.grid = to_expr(extent_of(scan.lines));
  const Buffer totals = {names.fresh("totals"), type, {2, parts.threads}, Scope::shared, {}};
  const Buffer mine = {names.fresh("mine"), type, {kEach}, Scope::local, {}};
  const Buffer carry = {names.fresh("carry"), type, {1}, Scope::local, {}};
  parts.shared = {totals};
  const Expr me = vars.thread(), end = to_expr(scan.along.extent);
  const Expr carried = load(carry.name, type, {Expr(0)});
  const auto total = [&](const Expr& side, const Expr& at) {
    return load(totals.name, type, {side, at});
  };
  const auto kept = [&](const Expr& at) { return load(mine.name, type, {at}); };
  const auto both = [&](const Expr& a, const Expr& b) { return binary(scan.op, a, b); };
  const Stmt barrier = make_stmt(BarrierStmt{Scope::shared});
  const std::string part = names.fresh("part"), first = names.fresh("first");

  // The work-item's own elements. Those beyond the end only reach what is beyond the end.
  std::vector<Stmt> phases;
  for (int64_t e = 0; e < kEach; ++e) {
    const Expr at = var(first) + Expr(e);
    const Expr element =
        select(at < end, substitute(scan.element, {{scan.along.name, at}}), scan.start);
    phases.push_back(
        store(mine.name, {Expr(e)}, e == 0 ? element : both(kept(Expr(e - 1)), element)));
  }
  phases.push_back(store(totals.name, {Expr(0), me}, kept(Expr(kEach - 1))));
  phases.push_back(barrier);
  int64_t side = 0;
  for (int64_t distance = 1; distance < parts.threads; distance *= 2) {
    const Expr here = total(Expr(side), me);
    phases.push_back(store(
        totals.name, {Expr(1 - side), me},
        select(me >= Expr(distance), both(total(Expr(side), me - Expr(distance)), here), here)));
    phases.push_back(barrier);
    side = 1 - side;
  }
  const std::string before = names.fresh("before");
  std::vector<Stmt> stores;
  for (int64_t e = 0; e < kEach; ++e) {
    std::vector<Expr> at;
    for (const Expr& i : scan.here)
      at.push_back(substitute(i, {{scan.along.name, var(first) + Expr(e)}}));
    stores.push_back(only_if(var(first) + Expr(e) < end,
                             store(scan.buffer, at, both(var(before, type), kept(Expr(e))))));
  }
  phases.push_back(
      let(before, select(me > Expr(0), both(carried, total(Expr(side), me - Expr(1))), carried),
          block(std::move(stores))));
  phases.push_back(
      store(carry.name, {Expr(0)}, both(carried, total(Expr(side), Expr(parts.threads - 1)))));
  // The next part begins with the side that this one may still read.
  if (side == 0) phases.push_back(barrier);

  const DimExpr count = ceildiv(scan.along.extent, parts.threads * kEach);
  Stmt body =
      let(first, (var(part) * Expr(parts.threads) + me) * Expr(kEach), block(std::move(phases)));
  body = for_loop(part, 0, to_expr(count), LoopKind::serial, std::move(body));
  body = block({store(carry.name, {Expr(0)}, scan.start), std::move(body)});
  body = bind_axes(scan.lines, vars.block(), std::move(body));
  parts.body = allocate(carry, allocate(mine, std::move(body)));
  return launch(vars, std::move(parts), target, names);
}

}  // namespace symtile::gpu
