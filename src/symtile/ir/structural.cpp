// Structural equality and hash of statements, functions and modules. Value numbers of graph
// functions may differ: values are compared in order of definition, by name and type.
#include <algorithm>
#include <bit>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/module.h"

namespace symtile {
namespace {

bool equal_exprs(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return structurally_equal(x, y); });
}

struct StmtEquality {
  bool operator()(const BlockStmt& a, const BlockStmt& b) const {
    return std::equal(a.stmts.begin(), a.stmts.end(), b.stmts.begin(), b.stmts.end(),
                      [](const Stmt& x, const Stmt& y) { return structurally_equal(x, y); });
  }
  bool operator()(const ComputeStmt& a, const ComputeStmt& b) const {
    return a.buffer == b.buffer && a.axes == b.axes && structurally_equal(a.value, b.value);
  }
  bool operator()(const AllocateStmt& a, const AllocateStmt& b) const {
    return a.buffer == b.buffer && structurally_equal(a.body, b.body);
  }
  bool operator()(const StoreStmt& a, const StoreStmt& b) const {
    return a.buffer == b.buffer && equal_exprs(a.indices, b.indices) &&
           structurally_equal(a.value, b.value);
  }
  bool operator()(const ForStmt& a, const ForStmt& b) const {
    return a.var == b.var && a.step == b.step && a.kind == b.kind &&
           structurally_equal(a.begin, b.begin) && structurally_equal(a.end, b.end) &&
           structurally_equal(a.body, b.body);
  }
  bool operator()(const LetStmt& a, const LetStmt& b) const {
    return a.var == b.var && structurally_equal(a.value, b.value) &&
           structurally_equal(a.body, b.body);
  }
  bool operator()(const IfStmt& a, const IfStmt& b) const {
    return structurally_equal(a.condition, b.condition) &&
           structurally_equal(a.then_body, b.then_body) &&
           structurally_equal(a.else_body, b.else_body);
  }
  bool operator()(const TaskStmt& a, const TaskStmt& b) const {
    return a.mapping == b.mapping && a.vars == b.vars && structurally_equal(a.worker, b.worker) &&
           structurally_equal(a.body, b.body);
  }
  bool operator()(const BarrierStmt& a, const BarrierStmt& b) const { return a.scope == b.scope; }
  bool operator()(const IntrinsicStmt& a, const IntrinsicStmt& b) const {
    return a.name == b.name && equal_exprs(a.args, b.args);
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

/// As operator==, but a NaN equals itself and the zeros differ.
bool equal_attribute(const Attribute& a, const Attribute& b) {
  if (const double* x = std::get_if<double>(&a)) {
    const double* y = std::get_if<double>(&b);
    return y && same_bits(*x, *y);
  }
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto* y = std::get_if<std::vector<double>>(&b);
    return y && std::equal(x->begin(), x->end(), y->begin(), y->end(), same_bits);
  }
  return a == b;
}

bool equal_attributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.map().begin(), a.map().end(), b.map().begin(), b.map().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && equal_attribute(x.second, y.second);
                    });
}

/// Pairs the values of two functions as their definitions are met.
class GraphEquality {
 public:
  GraphEquality(const GraphFunction& a, const GraphFunction& b) : a_(a), b_(b) {}

  bool equal() {
    if (a_.name != b_.name || a_.dim_params != b_.dim_params ||
        a_.result_names != b_.result_names || !(a_.facts == b_.facts) ||
        a_.arena_bytes != b_.arena_bytes || a_.params.size() != b_.params.size() ||
        a_.bindings.size() != b_.bindings.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.params.size(); ++i) {
      if (!define(a_.params[i], b_.params[i])) return false;
    }
    for (size_t i = 0; i < a_.bindings.size(); ++i) {
      const Binding &x = a_.bindings[i], &y = b_.bindings[i];
      if (!equal_node(x.node, y.node) || !define(x.result, y.result)) return false;
    }
    return equal_ids(a_.results, b_.results);
  }

 private:
  bool define(ValueId x, ValueId y) {
    map_[x] = y;
    const Value &u = a_.value(x), &v = b_.value(y);
    if (u.name != v.name || !(u.type == v.type) || u.placement.kind != v.placement.kind) {
      return false;
    }
    switch (u.placement.kind) {
      case Placement::Kind::arena:
        return u.placement.offset == v.placement.offset;
      case Placement::Kind::alias:
        return equal_id(u.placement.of, v.placement.of);
      default:
        return true;
    }
  }

  bool equal_id(ValueId x, ValueId y) const {
    if (!x.valid() || !y.valid()) return x.valid() == y.valid();
    const auto it = map_.find(x);
    return it != map_.end() && it->second == y;
  }

  bool equal_ids(const std::vector<ValueId>& x, const std::vector<ValueId>& y) const {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](ValueId u, ValueId v) { return equal_id(u, v); });
  }

  bool equal_node(const GraphNode& x, const GraphNode& y) const {
    if (x.index() != y.index()) return false;
    return std::visit(
        [&](const auto& n) {
          using N = std::decay_t<decltype(n)>;
          return equal_fields(n, std::get<N>(y));
        },
        x);
  }

  /// Walks both field lists in step.
  template <typename N>
  bool equal_fields(const N& x, const N& y) const {
    bool equal = true;
    size_t index = 0;
    N::fields(x, [&](const char*, const auto& field) {
      using Field = std::decay_t<decltype(field)>;
      size_t other_index = 0;
      N::fields(y, [&](const char*, const auto& other) {
        using Other = std::decay_t<decltype(other)>;
        if constexpr (std::is_same_v<Field, Other>) {
          if (other_index == index) equal = equal && equal_field(field, other);
        }
        ++other_index;
      });
      ++index;
    });
    return equal;
  }

  template <typename T>
  bool equal_field(const T& x, const T& y) const {
    if constexpr (std::is_same_v<T, ValueId>) {
      return equal_id(x, y);
    } else if constexpr (std::is_same_v<T, std::vector<ValueId>>) {
      return equal_ids(x, y);
    } else if constexpr (std::is_same_v<T, Attributes>) {
      return equal_attributes(x, y);
    } else if constexpr (std::is_same_v<T, Constant>) {
      return x == y || (x && y && *x == *y);
    } else {
      return x == y;
    }
  }

  const GraphFunction& a_;
  const GraphFunction& b_;
  std::map<ValueId, ValueId> map_;
};

class Hasher {
 public:
  void add(size_t h) { state_ = (state_ ^ h) * 0x9e3779b97f4a7c15u + (state_ >> 29); }
  void add(const std::string& s) { add(std::hash<std::string>{}(s)); }
  void add(const DimExpr& d) { add(d.is_unknown() ? size_t{7} : d.hash()); }
  void add(const Axis& a) {
    add(a.name);
    add(a.extent);
  }
  void add(const Buffer& b) {
    add(b.name);
    add(static_cast<size_t>(b.dtype));
    add(static_cast<size_t>(b.scope));
    add_all(b.dims);
    add_all(b.strides);
  }
  template <typename T>
  void add_all(const std::vector<T>& items) {
    add(items.size());
    for (const T& item : items) add(item);
  }

  void add(const Expr& e) {
    if (!e.defined()) return add(size_t{1});
    add(e.node().value.index() * 64 + static_cast<size_t>(e.dtype()));
    if (const auto* i = e.as<IntImm>()) add(static_cast<size_t>(i->value));
    if (const auto* f = e.as<FloatImm>()) add(std::bit_cast<uint64_t>(f->value));
    if (const auto* v = e.as<VarRef>()) add(v->name);
    if (const auto* l = e.as<Load>()) add(l->buffer);
    if (const auto* u = e.as<UnaryExpr>()) add(static_cast<size_t>(u->op));
    if (const auto* b = e.as<BinaryExpr>()) add(static_cast<size_t>(b->op));
    if (const auto* r = e.as<ReduceExpr>()) {
      add(static_cast<size_t>(r->kind));
      add_all(r->axes);
    }
    for_each_child(e, [&](const Expr& c) { add(c); });
  }

  void add(const Stmt& s) {
    if (!s) return add(size_t{2});
    add(s->value.index());
    std::visit([&](const auto& n) { fields(n); }, s->value);
  }

  size_t value() const { return state_; }

 private:
  void fields(const BlockStmt& n) { add_all(n.stmts); }
  void fields(const ComputeStmt& n) {
    add(n.buffer);
    add_all(n.axes);
    add(n.value);
  }
  void fields(const AllocateStmt& n) {
    add(n.buffer);
    add(n.body);
  }
  void fields(const StoreStmt& n) {
    add(n.buffer);
    add_all(n.indices);
    add(n.value);
  }
  void fields(const ForStmt& n) {
    add(n.var);
    add(n.begin);
    add(n.end);
    add(static_cast<size_t>(n.step));
    add(static_cast<size_t>(n.kind));
    add(n.body);
  }
  void fields(const LetStmt& n) {
    add(n.var);
    add(n.value);
    add(n.body);
  }
  void fields(const IfStmt& n) {
    add(n.condition);
    add(n.then_body);
    add(n.else_body);
  }
  void fields(const TaskStmt& n) {
    add(n.mapping.str());
    add(n.worker);
    add_all(n.vars);
    add(n.body);
  }
  void fields(const BarrierStmt& n) { add(static_cast<size_t>(n.scope)); }
  void fields(const IntrinsicStmt& n) {
    add(n.name);
    add_all(n.args);
  }

  size_t state_ = 0x51ed270b;
};

}  // namespace

bool structurally_equal(const Stmt& a, const Stmt& b) {
  if (a == b) return true;
  return a && b && std::visit(StmtEquality{}, a->value, b->value);
}

bool structurally_equal(const TileFunction& a, const TileFunction& b) {
  return a.name == b.name && same_kernel(a, b);
}

bool same_kernel(const TileFunction& a, const TileFunction& b) {
  return a.symbols == b.symbols && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.facts == b.facts && equal_attributes(a.attrs, b.attrs) &&
         structurally_equal(a.body, b.body);
}

bool structurally_equal(const GraphFunction& a, const GraphFunction& b) {
  return GraphEquality(a, b).equal();
}

bool structurally_equal(const Module& a, const Module& b) {
  const auto equal = [](const Function& x, const Function& y) {
    if (x.index() != y.index()) return false;
    if (const auto* g = std::get_if<GraphFunction>(&x)) {
      return structurally_equal(*g, std::get<GraphFunction>(y));
    }
    if (const auto* t = std::get_if<TileFunction>(&x)) {
      return structurally_equal(*t, std::get<TileFunction>(y));
    }
    return name_of(x) == name_of(y);
  };
  return std::equal(a.functions().begin(), a.functions().end(), b.functions().begin(),
                    b.functions().end(), equal);
}

// The name is left out so that equal kernels of different names meet. So are the facts and
// attributes: functions that differ only there collide, and equality tells them apart.
size_t structural_hash(const TileFunction& f) {
  Hasher h;
  h.add_all(f.symbols);
  h.add_all(f.inputs);
  h.add_all(f.outputs);
  h.add(f.body);
  return h.value();
}

}  // namespace symtile
