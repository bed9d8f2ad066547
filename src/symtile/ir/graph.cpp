#include "symtile/ir/graph.h"

#include <algorithm>

namespace symtile {
namespace {

bool has_name(const std::vector<Value>& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(), [&](const Value& v) { return v.name == name; });
}

std::string fresh_value_name(const std::vector<Value>& values, const std::string& base) {
  if (!base.empty() && !has_name(values, base)) return base;
  for (size_t i = base.empty() ? values.size() : 1;; ++i) {
    std::string name = base.empty() ? std::to_string(i) : base + "_" + std::to_string(i);
    if (!has_name(values, name)) return name;
  }
}

void collect_bare_symbols(const Type& type, std::set<std::string>& out) {
  if (type.dims) {
    for (const DimExpr& d : *type.dims) {
      if (d.is_unknown()) continue;
      if (auto symbol = d.as_symbol()) out.insert(*symbol);
    }
  }
  if (type.kind == Type::Kind::func) return;  // a function's symbols are its own
  for (const Type& e : type.elements) collect_bare_symbols(e, out);
}

}  // namespace

ValueId GraphFunction::add_value(std::string name, Type type) {
  values.push_back({fresh_value_name(values, name), std::move(type), {}});
  return {static_cast<int32_t>(values.size() - 1)};
}

ValueId GraphFunction::add_param(std::string name, Type type) {
  params.push_back(add_value(std::move(name), std::move(type)));
  return params.back();
}

ValueId GraphFunction::bind(GraphNode node, Type type, Location location, std::string name) {
  const ValueId result = add_value(std::move(name), std::move(type));
  bindings.push_back({result, std::move(node), std::move(location)});
  return result;
}

std::set<std::string> GraphFunction::entry_symbols() const {
  std::set<std::string> out(dim_params.begin(), dim_params.end());
  for (ValueId id : params) collect_bare_symbols(type(id), out);
  return out;
}

}  // namespace symtile
