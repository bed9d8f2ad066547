#include "symtile/schedule/cpu/loops.h"

#include <algorithm>
#include <limits>

#include "symtile/base/check.h"

namespace symtile {

NameSource::NameSource(const TileFunction& f) {
  taken_.insert(f.symbols.begin(), f.symbols.end());
  for (const Buffer& b : f.inputs) taken_.insert(b.name);
  for (const Buffer& b : f.outputs) taken_.insert(b.name);
  const auto axes = [&](const std::vector<Axis>& list) {
    for (const Axis& a : list) taken_.insert(a.name);
  };
  visit(
      f.body,
      [&](const Stmt& s) {
        if (const auto* c = as<ComputeStmt>(s)) axes(c->axes);
        if (const auto* a = as<AllocateStmt>(s)) taken_.insert(a->buffer.name);
      },
      [&](const Expr& root) {
        visit(root, [&](const Expr& e) {
          if (const auto* r = e.as<ReduceExpr>()) axes(r->axes);
        });
      });
}

std::string NameSource::fresh(const std::string& hint) {
  std::string name = hint;
  for (int i = 0; !taken_.insert(name).second; ++i) name = hint + "_" + std::to_string(i);
  return name;
}

Stmt let(const std::string& name, Expr value, Stmt body) {
  return make_stmt(LetStmt{name, std::move(value), std::move(body)});
}

Stmt let_all(const std::vector<std::pair<std::string, Expr>>& values, Stmt body) {
  for (auto it = values.rbegin(); it != values.rend(); ++it)
    body = let(it->first, it->second, std::move(body));
  return body;
}

Stmt serial_nest(const std::vector<Axis>& axes, Stmt body) {
  int64_t points = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const auto extent = axes[i].extent.as_const();
    points = extent && points <= 8 ? points * std::max<int64_t>(*extent, 1)
                                   : std::numeric_limits<int64_t>::max() / 2;
    const LoopKind kind = points <= 8 ? LoopKind::unrolled : LoopKind::serial;
    body = for_loop(axes[i].name, 0, to_expr(axes[i].extent), kind, std::move(body));
  }
  return body;
}

Stmt allocate(const Buffer& b, Stmt body) { return make_stmt(AllocateStmt{b, std::move(body)}); }

void make_axes_distinct(ComputeForm& form, NameSource& names) {
  for (ComputeStmt& stage : form.stages) {
    std::map<std::string, Expr> rename;
    for (Axis& a : stage.axes) {
      const std::string fresh = names.fresh(a.name);
      rename[a.name] = var(fresh);
      a.name = fresh;
    }
    stage.value = substitute(stage.value, rename);
  }
}

Expr combine(ReduceKind kind, Expr acc, Expr x) {
  return binary(combining_operator(kind), std::move(acc), std::move(x));
}

namespace {

/// The outermost reductions of `e`, each once.
std::vector<Expr> outer_reductions(const Expr& e) {
  std::vector<Expr> out;
  const std::function<void(const Expr&)> walk = [&](const Expr& x) {
    if (x.as<ReduceExpr>()) {
      const bool seen = std::any_of(out.begin(), out.end(),
                                    [&](const Expr& y) { return structurally_equal(x, y); });
      if (!seen) out.push_back(x);
      return;
    }
    if (const auto* u = x.as<UnaryExpr>()) {
      walk(u->a);
    } else if (const auto* b = x.as<BinaryExpr>()) {
      walk(b->a);
      walk(b->b);
    } else if (const auto* s = x.as<SelectExpr>()) {
      walk(s->condition);
      walk(s->then_value);
      walk(s->else_value);
    } else if (const auto* c = x.as<CastExpr>()) {
      walk(c->a);
    } else if (const auto* l = x.as<Load>()) {
      for (const Expr& i : l->indices) walk(i);
    }
  };
  walk(e);
  return out;
}

Expr replace_exprs(const Expr& e, const std::vector<Expr>& from, const std::vector<Expr>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (structurally_equal(e, from[i])) return to[i];
  }
  if (const auto* u = e.as<UnaryExpr>()) return unary(u->op, replace_exprs(u->a, from, to));
  if (const auto* b = e.as<BinaryExpr>()) {
    return binary(b->op, replace_exprs(b->a, from, to), replace_exprs(b->b, from, to));
  }
  if (const auto* s = e.as<SelectExpr>()) {
    return select(replace_exprs(s->condition, from, to), replace_exprs(s->then_value, from, to),
                  replace_exprs(s->else_value, from, to));
  }
  if (const auto* c = e.as<CastExpr>()) return cast(c->dtype, replace_exprs(c->a, from, to));
  if (const auto* l = e.as<Load>()) {
    std::vector<Expr> indices;
    for (const Expr& i : l->indices) indices.push_back(replace_exprs(i, from, to));
    return load(l->buffer, l->dtype, std::move(indices));
  }
  return e;
}

bool any_arg_reduction(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) {
    const auto* r = x.as<ReduceExpr>();
    found = found || (r && is_arg_reduction(r->kind));
  });
  return found;
}

bool nested_reduction(const Expr& e) {
  const std::vector<Expr> all = outer_reductions(e);
  return std::any_of(all.begin(), all.end(),
                     [](const Expr& r) { return has_reduction(r.as<ReduceExpr>()->body); });
}

}  // namespace

StageEmitter::Split StageEmitter::split(const ComputeStmt& stage,
                                        const std::vector<Axis>& axes) const {
  const bool reduces = has_reduction(stage.value);
  Split out{axes, {}};
  if (axes.empty()) return out;
  // A reduction keeps its output axes apart unless the innermost one is contiguous in the operands.
  if (reduces && (any_arg_reduction(stage.value) || nested_reduction(stage.value) ||
                  !unit_stride(stage.value, axes.back().name, true))) {
    return out;
  }
  size_t first = axes.size() - 1;
  while (first > 0) {
    const std::vector<Axis> group(axes.begin() + static_cast<std::ptrdiff_t>(first) - 1,
                                  axes.end());
    if (!merge_axes(stage.value, group, "_merged", form_.facts).direct) break;
    --first;
  }
  out.outer.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(first));
  out.inner.assign(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
  return out;
}

Stmt StageEmitter::emit(const ComputeStmt& stage, const std::vector<Axis>& axes) {
  const Split s = split(stage, axes);
  if (s.inner.empty()) return serial_nest(s.outer, emit_point(stage, {}));
  return serial_nest(s.outer, emit_range(stage, s.inner, 0, to_expr(extent_of(s.inner))));
}

Stmt StageEmitter::emit_range(const ComputeStmt& stage, const std::vector<Axis>& inner, Expr begin,
                              Expr end) {
  const std::string x = names_.fresh("x");
  const Expr value = merge_axes(stage.value, inner, x, form_.facts).value;
  Expr whole = form_.store_index.at(stage.buffer);
  // The store's own strides always merge: an element's address is linear in the row-major order.
  const MergedExpr merged = merge_axes(load("_", DType::i64, {whole}), inner, x, form_.facts);
  const Expr index = merged.value.as<Load>()->indices[0];
  if (!has_reduction(value)) {
    return for_loop(x, std::move(begin), std::move(end), LoopKind::vectorized,
                    store(stage.buffer, {index}, value));
  }
  const int lanes = block_lanes(value.dtype());
  const std::string block_var = names_.fresh("xb");
  const Expr full_end = begin + (end - begin) / Expr(lanes) * Expr(lanes);
  Stmt main =
      for_loop(block_var, begin, full_end, LoopKind::serial,
               emit_block(stage, value, index, x, var(block_var), lanes, end, false), lanes);
  const std::string tail = names_.fresh("xt");
  Stmt rest = make_stmt(
      IfStmt{full_end < end,
             let(tail, full_end, emit_block(stage, value, index, x, var(tail), lanes, end, true)),
             nullptr});
  return block({main, rest});
}

/// `lanes` neighbouring points at once: one vector accumulator a reduction, its loops outside.
Stmt StageEmitter::emit_block(const ComputeStmt& stage, const Expr& value, const Expr& index,
                              const std::string& x, Expr base, int lanes, const Expr& end,
                              bool masked) {
  const std::vector<Expr> reductions = outer_reductions(value);
  std::vector<Expr> results;
  std::vector<Stmt> stmts;
  std::vector<Buffer> buffers;
  const auto lane_loop = [&](const std::string& lane, Stmt body) {
    return for_loop(lane, 0, Expr(lanes), LoopKind::vectorized, std::move(body));
  };
  const auto guard = [&](const std::string& lane, Stmt body) {
    return masked ? make_stmt(IfStmt{base + var(lane) < end, std::move(body), nullptr}) : body;
  };
  for (const Expr& e : reductions) {
    const auto& r = *e.as<ReduceExpr>();
    Buffer acc{names_.fresh("acc"), r.dtype, {DimExpr(lanes)}, Scope::local, {}};
    const std::string i = names_.fresh("l"), j = names_.fresh("l");
    stmts.push_back(lane_loop(i, store(acc.name, {var(i)}, identity_of(r.kind, r.dtype))));
    const Expr body = substitute(r.body, {{x, base + var(j)}});
    const Expr step = combine(r.kind, load(acc.name, r.dtype, {var(j)}), body);
    stmts.push_back(serial_nest(r.axes, lane_loop(j, guard(j, store(acc.name, {var(j)}, step)))));
    results.push_back(e);
    buffers.push_back(acc);
  }
  const std::string o = names_.fresh("l");
  std::vector<Expr> replacements;
  for (size_t k = 0; k < reductions.size(); ++k) {
    replacements.push_back(load(buffers[k].name, buffers[k].dtype, {var(o)}));
  }
  const Expr final_value =
      substitute(replace_exprs(value, reductions, replacements), {{x, base + var(o)}});
  stmts.push_back(lane_loop(
      o, guard(o, store(stage.buffer, {substitute(index, {{x, base + var(o)}})}, final_value))));
  Stmt out = block(std::move(stmts));
  for (const Buffer& b : buffers) out = allocate(b, std::move(out));
  return out;
}

/// acc[0] = reduction, vectorised over the innermost reduction axes where they are contiguous.
Stmt StageEmitter::reduce_scalar(const ReduceExpr& r, const std::string& acc) {
  std::vector<Axis> axes = r.axes;
  size_t first = axes.size();
  if (!has_reduction(r.body) && unit_stride(r.body, axes.back().name, true)) {
    first = axes.size() - 1;
    while (first > 0) {
      const std::vector<Axis> group(axes.begin() + static_cast<std::ptrdiff_t>(first) - 1,
                                    axes.end());
      if (!merge_axes(r.body, group, "_merged", form_.facts).direct) break;
      --first;
    }
  }
  const std::vector<Axis> outer(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(first));
  const std::vector<Axis> inner(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
  const auto step = [&](const Expr& body) {
    return store(acc, {Expr(0)}, combine(r.kind, load(acc, r.dtype, {Expr(0)}), body));
  };
  if (inner.empty()) return serial_nest(outer, step(r.body));
  const std::string k = names_.fresh("k");
  const Expr body = merge_axes(r.body, inner, k, form_.facts).value;
  return serial_nest(outer,
                     for_loop(k, 0, to_expr(extent_of(inner)), LoopKind::vectorized, step(body)));
}

Stmt StageEmitter::emit_point(const ComputeStmt& stage, const std::map<std::string, Expr>& at) {
  const Expr value = at.empty() ? stage.value : substitute(stage.value, at);
  Expr index = form_.store_index.at(stage.buffer);
  if (!at.empty()) index = substitute(index, at);
  std::vector<Expr> from, to;
  std::vector<Stmt> stmts;
  std::vector<Buffer> buffers;
  for (const Expr& e : outer_reductions(value)) {
    const auto& r = *e.as<ReduceExpr>();
    if (is_arg_reduction(r.kind)) continue;  // stays an expression: the backend loops over it
    Buffer acc{names_.fresh("acc"), r.dtype, {DimExpr(1)}, Scope::local, {}};
    stmts.push_back(store(acc.name, {Expr(0)}, identity_of(r.kind, r.dtype)));
    stmts.push_back(reduce_scalar(r, acc.name));
    from.push_back(e);
    to.push_back(load(acc.name, r.dtype, {Expr(0)}));
    buffers.push_back(acc);
  }
  stmts.push_back(store(stage.buffer, {index}, replace_exprs(value, from, to)));
  Stmt out = block(std::move(stmts));
  for (const Buffer& b : buffers) out = allocate(b, std::move(out));
  return out;
}

Stmt parallel_over(const std::vector<Axis>& axes, const std::string& p, Stmt body) {
  std::vector<std::pair<std::string, Expr>> values;
  for (const auto& [name, value] : decode_axes(axes, var(p))) values.emplace_back(name, value);
  return for_loop(p, 0, to_expr(extent_of(axes)), LoopKind::parallel,
                  let_all(values, std::move(body)));
}

TileFunction finish_schedule(const TileFunction& f, const LinearForm& form, Stmt body,
                             const char* schedule) {
  TileFunction out = f;
  out.inputs = form.inputs;
  out.outputs = form.outputs;
  out.body = std::move(body);
  out.attrs.set("schedule", std::string(schedule));
  return out;
}

}  // namespace symtile
