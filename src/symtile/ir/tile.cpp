#include "symtile/ir/tile.h"

#include <algorithm>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/expr_scope.h"
#include "symtile/ir/stmt_walk.h"

namespace symtile {

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::global:
      return "global";
    case Scope::scratch:
      return "scratch";
    case Scope::shared:
      return "shared";
    case Scope::warp:
      return "warp";
    case Scope::local:
      return "local";
  }
  SYMTILE_UNREACHABLE();
}

std::string_view name_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "serial";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::grid_block:
      return "grid_block";
    case LoopKind::block_warp:
      return "block_warp";
    case LoopKind::warp_lane:
      return "warp_lane";
  }
  SYMTILE_UNREACHABLE();
}

Stmt block(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& s : stmts) {
    if (!s) continue;
    if (const BlockStmt* b = as<BlockStmt>(s)) {
      flat.insert(flat.end(), b->stmts.begin(), b->stmts.end());
    } else {
      flat.push_back(std::move(s));
    }
  }
  if (flat.size() == 1) return flat.front();
  return make_stmt(BlockStmt{std::move(flat)});
}

Stmt store(std::string buffer, std::vector<Expr> indices, Expr value) {
  return make_stmt(StoreStmt{std::move(buffer), std::move(indices), std::move(value)});
}

Stmt for_loop(std::string var, Expr begin, Expr end, LoopKind kind, Stmt body, int64_t step) {
  SYMTILE_CHECK(step >= 1, "loop '{}' has step {}", var, step);
  return make_stmt(
      ForStmt{std::move(var), std::move(begin), std::move(end), step, kind, std::move(body)});
}

const Buffer* TileFunction::find_param(std::string_view name) const {
  for (const auto* list : {&inputs, &outputs}) {
    for (const Buffer& b : *list) {
      if (b.name == name) return &b;
    }
  }
  return nullptr;
}

bool TileFunction::is_scheduled() const {
  bool scheduled = true;
  visit(body, [&](const Stmt& s) { scheduled &= as<ComputeStmt>(s) == nullptr; }, nullptr);
  return scheduled;
}

void visit(const Stmt& s, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const Expr&)>& on_expr) {
  if (!s) return;
  if (on_stmt) on_stmt(s);
  for_each_part(
      *s, [&](const Stmt& child) { visit(child, on_stmt, on_expr); },
      [&](const Expr& e) {
        if (on_expr) on_expr(e);
      });
}

Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr) {
  if (!s) return s;
  Stmt rebuilt = map_parts(
      s, [&](const Stmt& child) { return rewrite(child, on_stmt, on_expr); },
      [&](const Expr& e) { return on_expr ? on_expr(e) : e; });
  return on_stmt ? on_stmt(rebuilt) : rebuilt;
}

namespace {

void collect_free(const Stmt& s, std::set<std::string> bound, std::set<std::string>& out) {
  if (!s) return;
  const auto use = [&](const std::string& name) {
    if (!bound.count(name)) out.insert(name);
  };
  const auto use_dims = [&](const Dims& dims) {
    for (const DimExpr& d : dims) {
      if (d.is_unknown()) continue;
      for (const std::string& symbol : d.symbols()) use(symbol);
    }
  };
  const auto use_expr = [&](const Expr& e) {
    for (const std::string& name : free_variables(e)) use(name);
  };
  // The bounds, mapping and value of a binder are outside its own scope.
  if (const auto* c = as<ComputeStmt>(s)) {
    for (const Axis& a : c->axes) use_dims({a.extent});
    for (const Axis& a : c->axes) bound.insert(a.name);
  } else if (const auto* a = as<AllocateStmt>(s)) {
    use_dims(a->buffer.dims);
    use_dims(a->buffer.strides);
  } else if (const auto* f = as<ForStmt>(s)) {
    use_expr(f->begin);
    use_expr(f->end);
    bound.insert(f->var);
    return collect_free(f->body, std::move(bound), out);
  } else if (const auto* l = as<LetStmt>(s)) {
    use_expr(l->value);
    bound.insert(l->var);
    return collect_free(l->body, std::move(bound), out);
  } else if (const auto* t = as<TaskStmt>(s)) {
    for (const auto& atom : t->mapping.atoms()) use_dims(atom.extents);
    use_expr(t->worker);
    bound.insert(t->vars.begin(), t->vars.end());
    return collect_free(t->body, std::move(bound), out);
  }
  for_each_part(*s, [&](const Stmt& child) { collect_free(child, bound, out); }, use_expr);
}

std::set<std::string> free_variables(const Stmt& s) {
  std::set<std::string> out;
  collect_free(s, {}, out);
  return out;
}

Dims substitute_dims(Dims dims, const VariableMap& map) {
  for (DimExpr& d : dims) d = substitute_dim(d, map);
  return dims;
}

TaskMapping substitute_mapping(const TaskMapping& mapping, const VariableMap& map) {
  TaskMapping out;
  for (const TaskMapping::Atom& atom : mapping.atoms()) {
    Dims extents = substitute_dims(atom.extents, map);
    const bool spatial = atom.kind == TaskMapping::Kind::spatial;
    out = out * (spatial ? TaskMapping::spatial(std::move(extents), atom.ranks)
                         : TaskMapping::repeat(std::move(extents), atom.ranks));
  }
  return out;
}

}  // namespace

Stmt substitute(const Stmt& s, const VariableMap& map) {
  if (!s || map.empty()) return s;
  if (const auto* c = as<ComputeStmt>(s)) {
    ComputeStmt out = *c;
    for (Axis& a : out.axes) a.extent = substitute_dim(a.extent, map);
    const VariableMap inner = enter_scope(map, out.axes, free_variables(out.value));
    out.value = substitute(out.value, inner);
    return make_stmt(std::move(out));
  }
  if (const auto* a = as<AllocateStmt>(s)) {
    AllocateStmt out = *a;
    out.buffer.dims = substitute_dims(out.buffer.dims, map);
    out.buffer.strides = substitute_dims(out.buffer.strides, map);
    out.body = substitute(out.body, map);
    return make_stmt(std::move(out));
  }
  if (const auto* f = as<ForStmt>(s)) {
    ForStmt out = *f;
    out.begin = substitute(out.begin, map);
    out.end = substitute(out.end, map);
    const auto inner = enter_scope(map, {&out.var}, free_variables(out.body));
    out.body = substitute(out.body, inner);
    return make_stmt(std::move(out));
  }
  if (const auto* l = as<LetStmt>(s)) {
    LetStmt out = *l;
    out.value = substitute(out.value, map);
    const auto inner = enter_scope(map, {&out.var}, free_variables(out.body), out.value.dtype());
    out.body = substitute(out.body, inner);
    return make_stmt(std::move(out));
  }
  if (const auto* t = as<TaskStmt>(s)) {
    TaskStmt out = *t;
    out.mapping = substitute_mapping(out.mapping, map);
    out.worker = substitute(out.worker, map);
    std::vector<std::string*> names;
    for (std::string& v : out.vars) names.push_back(&v);
    const auto inner = enter_scope(map, names, free_variables(out.body));
    out.body = substitute(out.body, inner);
    return make_stmt(std::move(out));
  }
  return map_parts(
      s, [&](const Stmt& child) { return substitute(child, map); },
      [&](const Expr& e) { return substitute(e, map); });
}

Stmt rename_buffers(const Stmt& s, const std::map<std::string, std::string>& map) {
  const auto renamed = [&](const std::string& name) {
    const auto it = map.find(name);
    return it == map.end() ? name : it->second;
  };
  const auto rename_loads = [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const Load* l = e.as<Load>();
      return l && map.count(l->buffer) ? load(renamed(l->buffer), l->dtype, l->indices) : e;
    });
  };
  const auto rename_stmt = [&](const Stmt& stmt) -> Stmt {
    if (const auto* c = as<ComputeStmt>(stmt); c && map.count(c->buffer)) {
      return make_stmt(ComputeStmt{renamed(c->buffer), c->axes, c->value});
    }
    if (const auto* st = as<StoreStmt>(stmt); st && map.count(st->buffer)) {
      return make_stmt(StoreStmt{renamed(st->buffer), st->indices, st->value});
    }
    if (const auto* a = as<AllocateStmt>(stmt); a && map.count(a->buffer.name)) {
      AllocateStmt out = *a;
      out.buffer.name = renamed(out.buffer.name);
      return make_stmt(std::move(out));
    }
    return stmt;
  };
  return rewrite(s, rename_stmt, rename_loads);
}

}  // namespace symtile
