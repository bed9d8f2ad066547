// Simplification of expressions with facts: index arithmetic goes through DimExpr, comparisons
// and selects are decided where the facts prove them.
#include "symtile/diag/diagnostic.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/expr_scope.h"

namespace symtile {
namespace {

/// Number of nodes, counted up to `limit`.
int size_of_tree(const Expr& e, int limit) {
  int n = 1;
  for_each_child(e, [&](const Expr& c) {
    if (n < limit) n += size_of_tree(c, limit - n);
  });
  return n;
}

class Simplifier {
 public:
  explicit Simplifier(const Facts& facts) : facts_(facts) {}

  Expr operator()(const Expr& e) const {
    if (e.as<IntImm>() || e.as<FloatImm>() || e.as<Load>()) return map_children(e, *this);
    if (e.dtype() == DType::i64) {
      if (auto better = simplify_index(e)) return *better;
    }
    if (const auto* b = e.as<BinaryExpr>(); b && is_comparison(b->op)) {
      if (const auto known = decide(*b)) return bool_imm(*known);
    }
    if (const auto* s = e.as<SelectExpr>()) return simplify_select(*s);
    if (const auto* r = e.as<ReduceExpr>()) return simplify_reduce(*r);
    return map_children(e, *this);
  }

 private:
  /// The whole of `e` as a dimension; nullopt when it is no index arithmetic.
  std::optional<Expr> simplify_index(const Expr& e) const {
    const auto dim = to_dim_expr(e);
    if (!dim) return std::nullopt;
    try {
      Expr simpler = to_expr(facts_.simplify(*dim));
      if (structurally_equal(simpler, e)) return e;
      const int size = size_of_tree(e, 1 << 20);
      if (size_of_tree(simpler, size + 1) <= size) return simpler;
    } catch (const DiagnosticError&) {
      // An overflow while expanding: keep what is there.
    }
    return e;
  }

  std::optional<bool> decide(const BinaryExpr& n) const {
    const auto a = to_dim_expr(n.a);
    const auto b = a ? to_dim_expr(n.b) : std::nullopt;
    if (!b) return std::nullopt;
    const auto ordered = [&](bool holds, bool fails) -> std::optional<bool> {
      if (holds) return true;
      if (fails) return false;
      return std::nullopt;
    };
    try {
      switch (n.op) {
        case BinaryOp::lt:
          return ordered(facts_.proves_lt(*a, *b), facts_.proves_le(*b, *a));
        case BinaryOp::le:
          return ordered(facts_.proves_le(*a, *b), facts_.proves_lt(*b, *a));
        case BinaryOp::gt:
          return ordered(facts_.proves_lt(*b, *a), facts_.proves_le(*a, *b));
        case BinaryOp::ge:
          return ordered(facts_.proves_le(*b, *a), facts_.proves_lt(*a, *b));
        case BinaryOp::eq:
          return ordered(facts_.proves_equal(*a, *b), facts_.proves_not_equal(*a, *b));
        default:
          return ordered(facts_.proves_not_equal(*a, *b), facts_.proves_equal(*a, *b));
      }
    } catch (const DiagnosticError&) {
      return std::nullopt;
    }
  }

  Expr simplify_select(const SelectExpr& s) const {
    const Expr condition = (*this)(s.condition);
    if (const auto c = condition.as_int()) return (*this)(*c ? s.then_value : s.else_value);
    Facts when_true = facts_;
    assume(condition, when_true);
    return select(condition, Simplifier(when_true)(s.then_value), (*this)(s.else_value));
  }

  Expr simplify_reduce(const ReduceExpr& r) const {
    // Facts about an outer variable of the same name would be wrong inside.
    for (const Axis& a : r.axes) {
      if (facts_.ranges().count(a.name)) return make_node(r);
    }
    Facts inner = facts_;
    std::vector<Axis> axes;
    try {
      for (const Axis& a : r.axes) {
        axes.push_back({a.name, facts_.simplify(a.extent)});
        inner.bound(a.name, 0, std::nullopt);
        inner.assume_le(DimExpr::symbol(a.name) + 1, a.extent);
      }
    } catch (const DiagnosticError&) {
      return make_node(r);  // an extent that cannot hold a single iteration
    }
    return reduce(r.kind, std::move(axes), Simplifier(inner)(r.body));
  }

  /// Adds what a true `condition` says about indices.
  static void assume(const Expr& condition, Facts& facts) {
    const auto* n = condition.as<BinaryExpr>();
    if (!n) return;
    if (n->op == BinaryOp::logical_and) {
      assume(n->a, facts);
      assume(n->b, facts);
      return;
    }
    if (!is_comparison(n->op)) return;
    const auto a = to_dim_expr(n->a);
    const auto b = a ? to_dim_expr(n->b) : std::nullopt;
    if (!b) return;
    Facts with = facts;
    try {
      switch (n->op) {
        case BinaryOp::lt:
          with.assume_le(*a + 1, *b);
          break;
        case BinaryOp::le:
          with.assume_le(*a, *b);
          break;
        case BinaryOp::gt:
          with.assume_le(*b + 1, *a);
          break;
        case BinaryOp::ge:
          with.assume_le(*b, *a);
          break;
        case BinaryOp::eq:
          with.assume_equal(*a, *b);
          break;
        default:
          return;
      }
    } catch (const DiagnosticError&) {
      return;  // the branch is dead; nothing needs to be known in it
    }
    facts = std::move(with);
  }

  const Facts& facts_;
};

}  // namespace

Expr simplify(const Expr& e, const Facts& facts) { return Simplifier(facts)(e); }

}  // namespace symtile
