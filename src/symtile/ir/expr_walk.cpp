// Walking and rewriting of expressions. Shared subtrees are rewritten once, so inlining one
// producer at many places stays linear.
#include <algorithm>
#include <unordered_map>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/expr_scope.h"

namespace symtile {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const std::function<Expr(const Expr&)>& f) : f_(f) {}

  Expr operator()(const Expr& e) {
    if (const auto it = done_.find(&e.node()); it != done_.end()) return it->second.second;
    Expr result = f_(map_children(e, *this));
    // The original is kept alive with its result: node addresses are the keys.
    done_.emplace(&e.node(), std::pair(e, result));
    return result;
  }

 private:
  const std::function<Expr(const Expr&)>& f_;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> done_;
};

class Substituter {
 public:
  explicit Substituter(const VariableMap& map) : map_(map) {}

  Expr operator()(const Expr& e) {
    if (const auto it = done_.find(&e.node()); it != done_.end()) return it->second.second;
    Expr result = replace(e);
    done_.emplace(&e.node(), std::pair(e, result));
    return result;
  }

 private:
  Expr replace(const Expr& e) {
    if (const VarRef* v = e.as<VarRef>()) {
      const auto it = map_.find(v->name);
      if (it == map_.end()) return e;
      SYMTILE_CHECK(it->second.dtype() == v->dtype, "'{}' of {} is replaced by a value of {}",
                    v->name, name_of(v->dtype), name_of(it->second.dtype()));
      return it->second;
    }
    const ReduceExpr* r = e.as<ReduceExpr>();
    if (!r) return map_children(e, *this);
    const std::set<std::string> in_body = free_variables(r->body);
    std::vector<Axis> axes;
    for (const Axis& a : r->axes) axes.push_back({a.name, substitute_dim(a.extent, map_)});
    const VariableMap inner = enter_scope(map_, axes, in_body);
    return reduce(r->kind, std::move(axes), substitute(r->body, inner));
  }

  const VariableMap& map_;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> done_;
};

void collect_free(const Expr& e, std::set<std::string>& bound, std::set<std::string>& out) {
  if (const VarRef* v = e.as<VarRef>()) {
    if (!bound.count(v->name)) out.insert(v->name);
    return;
  }
  if (const ReduceExpr* r = e.as<ReduceExpr>()) {
    for (const Axis& a : r->axes) {
      for (const std::string& s : a.extent.symbols()) {
        if (!bound.count(s)) out.insert(s);
      }
    }
    std::set<std::string> inner = bound;
    for (const Axis& a : r->axes) inner.insert(a.name);
    collect_free(r->body, inner, out);
    return;
  }
  for_each_child(e, [&](const Expr& c) { collect_free(c, bound, out); });
}

}  // namespace

std::set<std::string> free_variables(const Expr& e) {
  std::set<std::string> bound, out;
  collect_free(e, bound, out);
  return out;
}

DimExpr substitute_dim(const DimExpr& dim, const VariableMap& map) {
  if (dim.is_unknown()) return dim;
  DimSubstitution dims;
  for (const std::string& symbol : dim.symbols()) {
    const auto it = map.find(symbol);
    if (it == map.end()) continue;
    const auto value = to_dim_expr(it->second);
    SYMTILE_CHECK(value, "'{}' in extent '{}' is replaced by something that is no dimension",
                  symbol, dim.str());
    dims.emplace(symbol, *value);
  }
  return dims.empty() ? dim : dim.substitute(dims);
}

VariableMap enter_scope(const VariableMap& map, std::vector<std::string*> names,
                        const std::set<std::string>& in_body, DType dtype) {
  VariableMap inner = map;
  for (const std::string* name : names) inner.erase(*name);
  std::set<std::string> inserted;
  for (const auto& [name, value] : inner) {
    if (in_body.count(name)) inserted.merge(free_variables(value));
  }
  std::set<std::string> taken = in_body;
  taken.insert(inserted.begin(), inserted.end());
  for (std::string* name : names) {
    if (!inserted.count(*name)) continue;
    std::string fresh;
    for (int i = 1; fresh.empty() || taken.count(fresh) || inner.count(fresh); ++i) {
      fresh = *name + "_" + std::to_string(i);
    }
    taken.insert(fresh);
    inner.emplace(*name, var(fresh, dtype));
    *name = fresh;
  }
  return inner;
}

VariableMap enter_scope(const VariableMap& map, std::vector<Axis>& axes,
                        const std::set<std::string>& in_body) {
  std::vector<std::string*> names;
  for (Axis& a : axes) names.push_back(&a.name);
  return enter_scope(map, std::move(names), in_body);
}

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) { return Rewriter(f)(e); }

void visit(const Expr& e, const std::function<void(const Expr&)>& f) {
  f(e);
  for_each_child(e, [&](const Expr& child) { visit(child, f); });
}

Expr substitute(const Expr& e, const VariableMap& map) {
  if (map.empty()) return e;
  return Substituter(map)(e);
}

}  // namespace symtile
