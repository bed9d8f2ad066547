// Walking and rewriting of graph nodes, derived from their field lists. Included by graph.h.
#pragma once

#include <type_traits>

namespace symtile {

namespace detail {
template <typename Field, typename F>
void visit_operand_field(Field& field, F& f) {
  using Plain = std::remove_const_t<Field>;
  if constexpr (std::is_same_v<Plain, ValueId>) {
    f(field);
  } else if constexpr (std::is_same_v<Plain, std::vector<ValueId>>) {
    for (auto& id : field) f(id);
  }
}

template <typename Field, typename F>
void visit_dim_field(Field& field, F& f) {
  using Plain = std::remove_const_t<Field>;
  if constexpr (std::is_same_v<Plain, DimExpr>) {
    f(field);
  } else if constexpr (std::is_same_v<Plain, Dims>) {
    for (auto& d : field) f(d);
  } else if constexpr (std::is_same_v<Plain, Type>) {
    if (field.dims) {
      for (auto& d : *field.dims) f(d);
    }
    for (auto& e : field.elements) visit_dim_field(e, f);
  } else if constexpr (std::is_same_v<Plain, Attributes>) {
    for (auto& [name, value] : field.map()) {
      if (auto* dims = std::get_if<Dims>(&value)) {
        for (auto& d : *dims) f(d);
      }
    }
  }
}
}  // namespace detail

template <typename Node, typename F>
void for_each_operand(Node& node, F&& f) {
  if constexpr (std::is_same_v<std::remove_const_t<Node>, GraphNode>) {
    std::visit([&](auto& n) { for_each_operand(n, f); }, node);
  } else {
    std::remove_const_t<Node>::fields(
        node, [&](const char*, auto& field) { detail::visit_operand_field(field, f); });
  }
}

/// Calls f(DimExpr&) for every dimension formula inside `node` (types, dims, attributes).
template <typename Node, typename F>
void for_each_dim(Node& node, F&& f) {
  if constexpr (std::is_same_v<std::remove_const_t<Node>, GraphNode>) {
    std::visit([&](auto& n) { for_each_dim(n, f); }, node);
  } else {
    std::remove_const_t<Node>::fields(
        node, [&](const char*, auto& field) { detail::visit_dim_field(field, f); });
  }
}

/// Calls f(std::string&) for every function name that `node` refers to.
template <typename F>
void for_each_callee(GraphNode& node, F&& f) {
  std::visit(
      [&](auto& n) {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, TileCall> || std::is_same_v<N, ExternCall> ||
                      std::is_same_v<N, GraphCall>) {
          f(n.callee);
        } else if constexpr (std::is_same_v<N, If>) {
          f(n.then_fn);
          f(n.else_fn);
        } else if constexpr (std::is_same_v<N, Loop>) {
          f(n.body);
        }
      },
      node);
}
template <typename F>
void for_each_callee(const GraphNode& node, F&& f) {
  for_each_callee(const_cast<GraphNode&>(node), [&](const std::string& name) { f(name); });
}

}  // namespace symtile
