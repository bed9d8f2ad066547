// Removes bindings whose results nobody uses, constants and values with them, and functions that
// main cannot reach. Bindings that bind a symbol still needed, and run-time checks, stay.
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

void sweep(GraphFunction& f) {
  std::vector<bool> live(f.values.size(), false);
  std::set<std::string> needed;
  const auto mark = [&](ValueId id) {
    if (id.valid()) live[static_cast<size_t>(id.index)] = true;
  };
  for (const ValueId r : f.results) {
    mark(r);
    f.type(r).collect_symbols(needed);
  }
  // Backwards: a binding is live when its result is used or it has an effect that matters.
  std::vector<Binding> kept;
  for (auto it = f.bindings.rbegin(); it != f.bindings.rend(); ++it) {
    const bool is_live =
        live[static_cast<size_t>(it->result.index)] || has_effect(it->node, f, needed);
    if (!is_live) continue;
    for_each_operand(it->node, mark);
    for_each_dim(it->node, [&](const DimExpr& d) { d.collect_symbols(needed); });
    f.type(it->result).collect_symbols(needed);
    kept.push_back(std::move(*it));
  }
  f.bindings.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

/// Drops values that no parameter, binding or result names, and renumbers the rest.
void compact_values(GraphFunction& f) {
  std::vector<int32_t> renumber(f.values.size(), -1);
  std::vector<Value> values;
  const auto keep = [&](ValueId& id) {
    if (!id.valid()) return;
    int32_t& to = renumber[static_cast<size_t>(id.index)];
    if (to < 0) {
      to = static_cast<int32_t>(values.size());
      values.push_back(std::move(f.values[static_cast<size_t>(id.index)]));
    }
    id.index = to;
  };
  for (ValueId& p : f.params) keep(p);
  for (Binding& b : f.bindings) {
    for_each_operand(b.node, keep);
    keep(b.result);
  }
  for (ValueId& r : f.results) keep(r);
  for (Value& v : values) {
    if (v.placement.of.valid())
      v.placement.of.index = renumber[static_cast<size_t>(v.placement.of.index)];
  }
  f.values = std::move(values);
}

}  // namespace

void dead_code(Module& module, PassContext&) {
  for (Function& function : module.functions()) {
    if (auto* f = std::get_if<GraphFunction>(&function)) {
      sweep(*f);
      compact_values(*f);
    }
  }
  if (!module.has(Module::kMain)) return;
  std::set<std::string> reached{std::string(Module::kMain)};
  std::vector<std::string> work{std::string(Module::kMain)};
  while (!work.empty()) {
    const std::string name = std::move(work.back());
    work.pop_back();
    const auto* f = module.find_graph(name);
    if (!f) continue;
    for (const Binding& b : f->bindings) {
      for_each_callee(b.node, [&](const std::string& callee) {
        if (reached.insert(callee).second) work.push_back(callee);
      });
    }
  }
  std::vector<std::string> dead;
  for (const Function& function : module.functions()) {
    if (!reached.count(name_of(function))) dead.push_back(name_of(function));
  }
  for (const std::string& name : dead) module.remove(name);
}

}  // namespace symtile
