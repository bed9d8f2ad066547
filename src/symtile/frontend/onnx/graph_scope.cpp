#include "symtile/frontend/onnx/graph_scope.h"

#include <algorithm>

namespace symtile::onnx_import {

EntryPtr entry_of(Constant constant) {
  auto entry = std::make_shared<Entry>();
  Dims dims;
  for (const int64_t d : constant->dims) dims.emplace_back(d);
  entry->type = Type::tensor(std::move(dims), constant->dtype);
  entry->known = known_from_constant(*constant);
  entry->constant = std::move(constant);
  entry->searched = true;
  return entry;
}

EntryPtr entry_of(KnownTensor known) {
  auto entry = std::make_shared<Entry>();
  entry->type = known.type();
  entry->constant = constant_from_known(known);
  entry->known = std::move(known);
  entry->searched = true;
  return entry;
}

namespace {

/// Fractions become numerators divided by their denominators, which rounds once, as IEEE does.
ValueId materialise_known(OpBuilder& build, const KnownTensor& known) {
  Dims numerators;
  std::vector<int64_t> denominators;
  bool fractions = false;
  for (const KnownElement& e : known.elements) {
    numerators.push_back(e.value);
    denominators.push_back(e.denominator);
    fractions = fractions || e.denominator != 1;
  }
  const bool scalar = known.rank() == 0;
  const auto shaped = [&](ValueId flat) {
    if (known.rank() <= 1) return flat;
    return build.call("reshape", {flat}, {{"shape", Dims(known.dims.begin(), known.dims.end())}});
  };
  if (!is_float(known.dtype))
    return shaped(build.dims_tensor(std::move(numerators), known.dtype, scalar));
  const ValueId out =
      shaped(build.call("cast", {build.dims_tensor(std::move(numerators), DType::i64, scalar)},
                        {{"to", known.dtype}}));
  if (!fractions) return out;
  auto divisor = make_zeros(known.dtype, known.dims);
  for (size_t i = 0; i < denominators.size(); ++i)
    divisor->set_int(static_cast<int64_t>(i), denominators[i]);
  return build.call("div", {out, build.constant(std::move(divisor))});
}

}  // namespace

ValueId FunctionState::materialise(Entry& entry) {
  if (entry.value.valid()) return entry.value;
  const size_t first = function.values.size();
  if (entry.constant) {
    ValueId& shared = constants_[entry.constant.get()];
    if (!shared.valid()) shared = build.constant(entry.constant);
    entry.value = shared;
  } else {
    SYMTILE_CHECK(entry.known && entry.known->complete(), "value '{}' has no definition",
                  entry.name);
    entry.value = materialise_known(build, *entry.known);
  }
  if (!entry.name.empty() && static_cast<size_t>(entry.value.index) >= first)
    rename(entry.value, entry.name);
  return entry.value;
}

void FunctionState::rename(ValueId value, const std::string& name) {
  for (; scanned_names_ < function.values.size(); ++scanned_names_) {
    names_.insert(function.values[scanned_names_].name);
  }
  Value& v = function.value(value);
  if (v.name == name) return;
  std::string free = name;
  for (int i = 1; !names_.insert(free).second; ++i) free = fmt::format("{}_{}", name, i);
  v.name = std::move(free);
}

std::set<std::string> FunctionState::symbols_in_scope() const {
  std::set<std::string> out = function.entry_symbols();
  for (const Binding& b : function.bindings) {
    if (const auto* read = std::get_if<ReadDims>(&b.node)) {
      out.insert(read->symbols.begin(), read->symbols.end());
    } else if (const auto* match = std::get_if<MatchCast>(&b.node)) {
      match->type.collect_symbols(out);
    }
  }
  return out;
}

void FunctionState::drop_unused_symbols() {
  std::set<std::string> used;
  for (const Value& v : function.values) v.type.collect_symbols(used);
  for (const Binding& b : function.bindings) {
    for_each_dim(b.node, [&](const DimExpr& d) { d.collect_symbols(used); });
    if (const auto* read = std::get_if<ReadDims>(&b.node))
      used.insert(read->symbols.begin(), read->symbols.end());
  }
  std::erase_if(function.dim_params, [&](const std::string& s) { return !used.count(s); });
  function.facts = restrict_facts(function.facts, used);
}

bool Scope::defines(const std::string& name) const {
  return names.count(name) > 0 || (parent && parent->defines(name));
}

EntryPtr Scope::find(const std::string& name) {
  const auto own = names.find(name);
  if (own != names.end()) return own->second;
  if (!parent) return nullptr;
  EntryPtr outer = parent->find(name);
  if (!outer || &parent->state == &state) return outer;
  auto inner = std::make_shared<Entry>(*outer);
  inner->value = {};
  if (!inner->constant && !(inner->known && inner->known->complete())) {
    const ValueId from = parent->state.materialise(*outer);
    inner->value = state.function.add_param(name, outer->type);
    state.captures.push_back({from, inner->value});
  }
  names.emplace(name, inner);
  return inner;
}

}  // namespace symtile::onnx_import
