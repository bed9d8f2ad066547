// Computes equal things once: bindings of one function with equal right-hand sides, equal constants
// among them, become one. Calls of graph functions stay, they may do anything.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

void mix(size_t& hash, size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }

size_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

/// Equal nodes have equal hashes; attributes only count by name.
size_t hash_of(const GraphNode& node) {
  size_t hash = node.index();
  for_each_operand(node, [&](ValueId id) { mix(hash, static_cast<size_t>(id.index)); });
  for_each_dim(node, [&](const DimExpr& d) { mix(hash, d.hash()); });
  for_each_callee(node, [&](const std::string& name) { mix(hash, hash_of(name)); });
  if (const auto* call = std::get_if<OpCall>(&node)) {
    mix(hash, hash_of(call->op));
    for (const auto& entry : call->attrs.map()) mix(hash, hash_of(entry.first));
  } else if (const auto* get = std::get_if<GetItem>(&node)) {
    mix(hash, static_cast<size_t>(get->index));
  } else if (const auto* constant = std::get_if<ConstantNode>(&node)) {
    mix(hash, constant->data->hash());
  }
  return hash;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

/// operator== takes the two zeros for equal; a reciprocal of them is not.
bool same_zeros(const Attributes& a, const Attributes& b) {
  auto it = b.map().begin();
  for (const auto& entry : a.map()) {
    const Attribute &x = entry.second, &y = (it++)->second;
    if (const auto* p = std::get_if<double>(&x); p && !same_bits(*p, std::get<double>(y)))
      return false;
    if (const auto* p = std::get_if<std::vector<double>>(&x)) {
      const auto& q = std::get<std::vector<double>>(y);
      if (!std::equal(p->begin(), p->end(), q.begin(), q.end(), same_bits)) return false;
    }
  }
  return true;
}

bool same_node(const GraphNode& a, const GraphNode& b) {
  if (!(a == b)) return false;
  if (const auto* x = std::get_if<OpCall>(&a))
    return same_zeros(x->attrs, std::get<OpCall>(b).attrs);
  if (const auto* x = std::get_if<ExternCall>(&a))
    return same_zeros(x->attrs, std::get<ExternCall>(b).attrs);
  return true;
}

/// Only its arguments decide what the binding gives, and nothing else happens. A cast to a known
/// type is among them: the symbols it binds are bound by the first of two equal ones.
bool is_shareable(const GraphNode& node) {
  return !std::holds_alternative<GraphCall>(node) && !std::holds_alternative<If>(node) &&
         !std::holds_alternative<Loop>(node) && !std::holds_alternative<ReadDims>(node);
}

void share(GraphFunction& f) {
  std::unordered_multimap<size_t, size_t> seen;  // hash of the node -> position in `kept`
  std::unordered_map<int32_t, ValueId> replaced;
  std::vector<Binding> kept;
  for (Binding& b : f.bindings) {
    for_each_operand(b.node, [&](ValueId& id) {
      if (const auto it = replaced.find(id.index); it != replaced.end()) id = it->second;
    });
    bool known = false;
    if (is_shareable(b.node)) {
      const size_t hash = hash_of(b.node);
      auto [begin, end] = seen.equal_range(hash);
      for (auto it = begin; it != end && !known; ++it) {
        const Binding& first = kept[it->second];
        if (!(f.type(first.result) == f.type(b.result)) || !same_node(first.node, b.node)) continue;
        replaced.emplace(b.result.index, first.result);
        known = true;
      }
      if (!known) seen.emplace(hash, kept.size());
    }
    if (!known) kept.push_back(std::move(b));
  }
  f.bindings = std::move(kept);
  replace_uses(f, replaced);
}

}  // namespace

void common_subexpressions(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) share(module.graph(name));
}

}  // namespace symtile
