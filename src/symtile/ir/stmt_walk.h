// The children of each kind of statement, in one place: walking, rewriting and substitution
// derive from these two functions. A new statement that they do not name fails to compile.
#pragma once

#include "symtile/ir/tile.h"

namespace symtile {

/// Calls on_stmt(const Stmt&) and on_expr(const Expr&) for the parts of `node`, in text order;
/// null statements are skipped.
template <typename S, typename E>
void for_each_part(const StmtNode& node, S&& on_stmt, E&& on_expr) {
  const auto body = [&](const Stmt& s) {
    if (s) on_stmt(s);
  };
  std::visit(
      [&](const auto& n) {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, BlockStmt>) {
          for (const Stmt& s : n.stmts) body(s);
        } else if constexpr (std::is_same_v<N, ComputeStmt>) {
          on_expr(n.value);
        } else if constexpr (std::is_same_v<N, AllocateStmt>) {
          body(n.body);
        } else if constexpr (std::is_same_v<N, StoreStmt>) {
          for (const Expr& i : n.indices) on_expr(i);
          on_expr(n.value);
        } else if constexpr (std::is_same_v<N, ForStmt>) {
          on_expr(n.begin);
          on_expr(n.end);
          body(n.body);
        } else if constexpr (std::is_same_v<N, LetStmt>) {
          on_expr(n.value);
          body(n.body);
        } else if constexpr (std::is_same_v<N, IfStmt>) {
          on_expr(n.condition);
          body(n.then_body);
          body(n.else_body);
        } else if constexpr (std::is_same_v<N, TaskStmt>) {
          on_expr(n.worker);
          body(n.body);
        } else if constexpr (std::is_same_v<N, IntrinsicStmt>) {
          for (const Expr& a : n.args) on_expr(a);
        } else {
          static_assert(std::is_same_v<N, BarrierStmt>);
        }
      },
      node.value);
}

/// `s` with every part replaced; `s` itself when none changed.
template <typename S, typename E>
Stmt map_parts(const Stmt& s, S&& on_stmt, E&& on_expr) {
  bool changed = false;
  const auto body = [&](Stmt& part) {
    if (!part) return;
    Stmt next = on_stmt(part);
    changed |= next != part;
    part = std::move(next);
  };
  const auto expr = [&](Expr& part) {
    Expr next = on_expr(part);
    changed |= !next.same_as(part);
    part = std::move(next);
  };
  StmtNode copy = *s;
  std::visit(
      [&](auto& n) {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, BlockStmt>) {
          for (Stmt& part : n.stmts) body(part);
        } else if constexpr (std::is_same_v<N, ComputeStmt>) {
          expr(n.value);
        } else if constexpr (std::is_same_v<N, AllocateStmt>) {
          body(n.body);
        } else if constexpr (std::is_same_v<N, StoreStmt>) {
          for (Expr& i : n.indices) expr(i);
          expr(n.value);
        } else if constexpr (std::is_same_v<N, ForStmt>) {
          expr(n.begin);
          expr(n.end);
          body(n.body);
        } else if constexpr (std::is_same_v<N, LetStmt>) {
          expr(n.value);
          body(n.body);
        } else if constexpr (std::is_same_v<N, IfStmt>) {
          expr(n.condition);
          body(n.then_body);
          body(n.else_body);
        } else if constexpr (std::is_same_v<N, TaskStmt>) {
          expr(n.worker);
          body(n.body);
        } else if constexpr (std::is_same_v<N, IntrinsicStmt>) {
          for (Expr& a : n.args) expr(a);
        } else {
          static_assert(std::is_same_v<N, BarrierStmt>);
        }
      },
      copy.value);
  return changed ? std::make_shared<const StmtNode>(std::move(copy)) : s;
}

}  // namespace symtile
