#include "symtile/transform/graph_utils.h"

#include <algorithm>

namespace symtile {

std::vector<int> count_uses(const GraphFunction& f) {
  std::vector<int> uses(f.values.size(), 0);
  const auto use = [&](ValueId id) {
    if (id.valid()) ++uses[static_cast<size_t>(id.index)];
  };
  for (const Binding& b : f.bindings) for_each_operand(b.node, use);
  for (const ValueId r : f.results) use(r);
  return uses;
}

std::vector<std::vector<int>> users_of(const GraphFunction& f) {
  std::vector<std::vector<int>> out(f.values.size());
  for (size_t i = 0; i < f.bindings.size(); ++i) {
    for_each_operand(f.bindings[i].node, [&](ValueId id) {
      if (id.valid()) out[static_cast<size_t>(id.index)].push_back(static_cast<int>(i));
    });
  }
  for (const ValueId r : f.results) out[static_cast<size_t>(r.index)].push_back(-1);
  return out;
}

std::vector<int> defining_bindings(const GraphFunction& f) {
  std::vector<int> defs(f.values.size(), -1);
  for (size_t i = 0; i < f.bindings.size(); ++i) {
    defs[static_cast<size_t>(f.bindings[i].result.index)] = static_cast<int>(i);
  }
  return defs;
}

void replace_uses(GraphFunction& f, const std::unordered_map<int32_t, ValueId>& map) {
  const auto replace = [&](ValueId& id) {
    for (auto it = map.find(id.index); it != map.end(); it = map.find(id.index)) id = it->second;
  };
  for (Binding& b : f.bindings) for_each_operand(b.node, replace);
  for (ValueId& r : f.results) replace(r);
}

Constant constant_of(const GraphFunction& f, const std::vector<int>& defs, ValueId id) {
  if (!id.valid()) return nullptr;
  const int def = defs[static_cast<size_t>(id.index)];
  if (def < 0) return nullptr;
  const auto* node = std::get_if<ConstantNode>(&f.bindings[static_cast<size_t>(def)].node);
  return node ? node->data : nullptr;
}

std::vector<std::string> bound_symbols(const GraphNode& node,
                                       const std::set<std::string>& in_scope) {
  std::vector<std::string> out;
  if (const auto* read = std::get_if<ReadDims>(&node)) return read->symbols;
  if (const auto* cast = std::get_if<MatchCast>(&node)) {
    if (!cast->type.dims) return out;
    for (const DimExpr& d : *cast->type.dims) {
      const auto name = d.as_symbol();
      if (name && !in_scope.count(*name)) out.push_back(*name);
    }
  }
  return out;
}

bool has_effect(const GraphNode& node, const GraphFunction& f,
                const std::set<std::string>& needed) {
  (void)f;
  if (std::holds_alternative<CheckDims>(node)) return true;
  if (const auto* read = std::get_if<ReadDims>(&node)) {
    for (const std::string& s : read->symbols) {
      if (needed.count(s)) return true;
    }
  }
  if (const auto* cast = std::get_if<MatchCast>(&node); cast && cast->type.dims) {
    for (const DimExpr& d : *cast->type.dims) {
      const auto name = d.as_symbol();
      if (name && needed.count(*name)) return true;
    }
  }
  return false;
}

bool equal_dims(const Facts& facts, const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const DimExpr& x, const DimExpr& y) {
                      return !x.is_unknown() && !y.is_unknown() && facts.proves_equal(x, y);
                    });
}

bool may_stand_for(const Facts& facts, const Type& from, const Type& to) {
  if (from == to) return true;
  return from.is_tensor() && to.is_tensor() && from.dtype == to.dtype && from.dims && to.dims &&
         equal_dims(facts, *from.dims, *to.dims);
}

}  // namespace symtile
