// Expression nodes as they are, without the folding of the makers in expr.h. For code that must
// keep a tree exactly: the parser, and rebuilding after a walk.
#pragma once

#include "symtile/base/check.h"
#include "symtile/ir/expr.h"

namespace symtile {

template <typename T>
Expr make_node(T node) {
  return Expr(std::make_shared<const ExprNode>(ExprNode{std::move(node)}));
}

/// Result dtypes, and the reason why an operator does not accept an operand dtype ("" if it does).
DType result_dtype(UnaryOp op, DType operand);
DType result_dtype(BinaryOp op, DType operand);
DType result_dtype(ReduceKind kind, DType body);
std::string why_not(UnaryOp op, DType operand);
std::string why_not(BinaryOp op, DType a, DType b);
std::string why_not(ReduceKind kind, size_t axes, DType body);

/// Calls f(const Expr&) for each child, in text order.
template <typename F>
void for_each_child(const Expr& e, F&& f) {
  std::visit(
      [&](const auto& n) {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, Load>) {
          for (const Expr& i : n.indices) f(i);
        } else if constexpr (std::is_same_v<N, UnaryExpr> || std::is_same_v<N, CastExpr>) {
          f(n.a);
        } else if constexpr (std::is_same_v<N, BinaryExpr>) {
          f(n.a);
          f(n.b);
        } else if constexpr (std::is_same_v<N, SelectExpr>) {
          f(n.condition);
          f(n.then_value);
          f(n.else_value);
        } else if constexpr (std::is_same_v<N, ReduceExpr>) {
          f(n.body);
        } else {
          static_assert(std::is_same_v<N, IntImm> || std::is_same_v<N, FloatImm> ||
                        std::is_same_v<N, VarRef>);
        }
      },
      e.node().value);
}

/// `e` with every child replaced by f(child); `e` itself when none changed. Makers rebuild it,
/// so new constants fold.
template <typename F>
Expr map_children(const Expr& e, F&& f) {
  return std::visit(
      [&](const auto& n) -> Expr {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, Load>) {
          std::vector<Expr> indices;
          bool changed = false;
          for (const Expr& i : n.indices) {
            indices.push_back(f(i));
            changed |= !indices.back().same_as(i);
          }
          return changed ? load(n.buffer, n.dtype, std::move(indices)) : e;
        } else if constexpr (std::is_same_v<N, UnaryExpr>) {
          Expr a = f(n.a);
          return a.same_as(n.a) ? e : unary(n.op, std::move(a));
        } else if constexpr (std::is_same_v<N, CastExpr>) {
          Expr a = f(n.a);
          return a.same_as(n.a) ? e : cast(n.dtype, std::move(a));
        } else if constexpr (std::is_same_v<N, BinaryExpr>) {
          Expr a = f(n.a), b = f(n.b);
          return a.same_as(n.a) && b.same_as(n.b) ? e : binary(n.op, std::move(a), std::move(b));
        } else if constexpr (std::is_same_v<N, SelectExpr>) {
          Expr c = f(n.condition), t = f(n.then_value), o = f(n.else_value);
          if (c.same_as(n.condition) && t.same_as(n.then_value) && o.same_as(n.else_value))
            return e;
          return select(std::move(c), std::move(t), std::move(o));
        } else if constexpr (std::is_same_v<N, ReduceExpr>) {
          Expr body = f(n.body);
          return body.same_as(n.body) ? e : reduce(n.kind, n.axes, std::move(body));
        } else {
          return e;
        }
      },
      e.node().value);
}

}  // namespace symtile
