// The words that open a right-hand side in the text of graph functions, from graph_nodes.def.
#pragma once

#include <string_view>

namespace symtile {

constexpr bool is_graph_keyword(std::string_view word) {
#define GRAPH_NODE(Node, keyword) \
  if (word == keyword) return true;
#include "symtile/ir/graph_nodes.def"
#undef GRAPH_NODE
  return false;
}

}  // namespace symtile
