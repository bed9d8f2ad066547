#include "symtile/ir/module.h"

#include <algorithm>
#include <utility>

#include "symtile/base/check.h"

namespace symtile {
namespace {

template <typename T>
std::vector<std::string> names_of_kind(const std::vector<Function>& functions) {
  std::vector<std::string> out;
  for (const Function& f : functions) {
    if (const T* t = std::get_if<T>(&f)) out.push_back(t->name);
  }
  return out;
}

}  // namespace

const std::string& name_of(const Function& f) {
  return std::visit([](const auto& g) -> const std::string& { return g.name; }, f);
}

Function& Module::add(Function f) {
  if (Function* existing = find(name_of(f))) return *existing = std::move(f);
  return functions_.emplace_back(std::move(f));
}

void Module::remove(std::string_view name) {
  std::erase_if(functions_, [&](const Function& f) { return name_of(f) == name; });
}

const Function* Module::find(std::string_view name) const {
  const auto it = std::find_if(functions_.begin(), functions_.end(),
                               [&](const Function& f) { return name_of(f) == name; });
  return it == functions_.end() ? nullptr : &*it;
}

Function* Module::find(std::string_view name) {
  return const_cast<Function*>(std::as_const(*this).find(name));
}

const GraphFunction* Module::find_graph(std::string_view name) const {
  const Function* f = find(name);
  return f ? std::get_if<GraphFunction>(f) : nullptr;
}

const TileFunction* Module::find_tile(std::string_view name) const {
  const Function* f = find(name);
  return f ? std::get_if<TileFunction>(f) : nullptr;
}

const GraphFunction& Module::graph(std::string_view name) const {
  const GraphFunction* f = find_graph(name);
  SYMTILE_CHECK(f, "no graph function '{}'", name);
  return *f;
}

GraphFunction& Module::graph(std::string_view name) {
  return const_cast<GraphFunction&>(std::as_const(*this).graph(name));
}

const TileFunction& Module::tile(std::string_view name) const {
  const TileFunction* f = find_tile(name);
  SYMTILE_CHECK(f, "no tile function '{}'", name);
  return *f;
}

TileFunction& Module::tile(std::string_view name) {
  return const_cast<TileFunction&>(std::as_const(*this).tile(name));
}

std::string Module::fresh_name(std::string_view base) const {
  std::string name(base);
  for (int i = 1; has(name); ++i) name = std::string(base) + "_" + std::to_string(i);
  return name;
}

std::vector<std::string> Module::graph_names() const {
  return names_of_kind<GraphFunction>(functions_);
}

std::vector<std::string> Module::tile_names() const {
  return names_of_kind<TileFunction>(functions_);
}

}  // namespace symtile
