#include "symtile/frontend/onnx/control_flow.h"

#include <algorithm>

namespace symtile::onnx_import {

Dims symbols_of(const std::vector<std::string>& names) {
  Dims out;
  for (const std::string& n : names) out.push_back(DimExpr::symbol(n));
  return out;
}

Facts restrict_facts(const Facts& facts, const std::set<std::string>& symbols) {
  const auto relevant = [&](const DimExpr& a, const DimExpr& b) {
    std::set<std::string> used = a.symbols();
    b.collect_symbols(used);
    return std::includes(symbols.begin(), symbols.end(), used.begin(), used.end());
  };
  Facts kept;
  for (const auto& [symbol, range] : facts.ranges()) {
    if (symbols.count(symbol)) kept.bound(symbol, range.low, range.high);
  }
  for (const auto& [expr, divisor] : facts.divisors()) {
    if (relevant(expr, 0)) kept.assume_divisible(expr, divisor);
  }
  for (const Facts::Relation& r : facts.equalities()) {
    if (relevant(r.a, r.b)) kept.assume_equal(r.a, r.b);
  }
  for (const Facts::Relation& r : facts.inequalities()) {
    if (relevant(r.a, r.b)) kept.assume_le(r.a, r.b);
  }
  return kept;
}

std::vector<ValueId> bind_results(OpBuilder& build, GraphNode node, const std::vector<Type>& types,
                                  const std::string& hint) {
  GraphFunction& f = build.function();
  std::vector<ValueId> out;
  if (types.size() == 1) {
    out.push_back(f.bind(std::move(node), types[0], build.location, hint));
  } else {
    const ValueId tuple = f.bind(std::move(node), Type::tuple(types), build.location, hint);
    for (size_t k = 0; k < types.size(); ++k) {
      out.push_back(f.bind(GetItem{tuple, static_cast<int64_t>(k)}, types[k], build.location,
                           fmt::format("{}_{}", hint, k)));
    }
  }
  for (ValueId& v : out) {
    Type t = f.type(v);
    if (!t.has_rank()) continue;
    bool any = false;
    for (DimExpr& d : *t.dims) {
      if (!d.is_unknown()) continue;
      d = DimExpr::symbol(build.fresh_symbol(hint));
      any = true;
    }
    if (any) v = build.match_cast(v, std::move(t));
  }
  return out;
}

bool is_contradiction(const DiagnosticError& e) {
  return e.id() == DiagId::shape_mismatch || e.id() == DiagId::type_mismatch ||
         e.id() == DiagId::bad_attribute;
}

std::set<std::string> function_names(const Module& module) {
  std::set<std::string> out;
  for (const Function& f : module.functions()) out.insert(name_of(f));
  return out;
}

void remove_new_functions(Module& module, const std::set<std::string>& before) {
  for (const std::string& name : function_names(module)) {
    if (!before.count(name)) module.remove(name);
  }
}

bool BranchChoices::choose() {
  if (next == taken.size()) taken.push_back(true);
  return taken[next++];
}

bool BranchChoices::advance() {
  constexpr size_t kMostChoices = 6;
  taken.resize(std::min(next, kMostChoices));
  while (!taken.empty() && !taken.back()) taken.pop_back();
  if (taken.empty()) return false;
  taken.back() = false;
  return true;
}

std::vector<Type> CarriedBody::carried_results() const {
  std::vector<Type> out;
  for (Type t : carried) {
    for (DimExpr& d : *t.dims) {
      const auto symbol = d.as_symbol();
      if (symbol && varying.count(*symbol)) d = DimExpr::unknown();
    }
    out.push_back(std::move(t));
  }
  return out;
}

Type CarriedBody::outer_type(const Type& t) const {
  return t.erase_outside({sub.dim_params.begin(), sub.dim_params.end()});
}

namespace {

class Fixpoint {
 public:
  Fixpoint(ImportContext& c, CarriedBody& body) : c_(c), body_(body) {}

  void vary(DimExpr& d, size_t k) {
    const std::string s = c_.build().fresh_symbol(fmt::format("carried{}", k));
    body_.varying.insert(s);
    d = DimExpr::symbol(s);
  }

  /// Whether the parameter type of carried value k had to be generalised to fit `result`.
  bool generalise(size_t k, const Type& result) {
    Type& t = body_.carried[k];
    if (result.dtype != t.dtype) {
      c_.fail(DiagId::type_mismatch, "carried value {} is {} before an iteration and {} after it",
              k, name_of(t.dtype), name_of(result.dtype));
    }
    if (!result.has_rank() || result.rank() != t.rank()) {
      c_.fail(DiagId::unsupported,
              "carried value {} changes its rank: it is {} before an iteration and {} after it", k,
              t.str(), result.str());
    }
    bool changed = false;
    for (size_t d = 0; d < t.dims->size(); ++d) {
      DimExpr& p = (*t.dims)[d];
      const DimExpr& r = (*result.dims)[d];
      const auto symbol = p.as_symbol();
      if (symbol && body_.varying.count(*symbol)) continue;
      if (!r.is_unknown() && c_.facts().proves_equal(p, r)) continue;
      vary(p, k);
      changed = true;
    }
    return changed;
  }

 private:
  ImportContext& c_;
  CarriedBody& body_;
};

}  // namespace

CarriedBody import_carried_body(ImportContext& c, const char* attr, const std::vector<Type>& before,
                                std::vector<Type> carried, const std::vector<Type>& after,
                                size_t first_result) {
  CarriedBody body;
  body.carried = std::move(carried);
  Fixpoint fixpoint(c, body);
  for (size_t k = 0; k < body.carried.size(); ++k) {
    Type& t = body.carried[k];
    if (!t.has_rank()) {
      c.fail(DiagId::unsupported, "the rank of carried value {} is not known before run time", k);
    }
    for (DimExpr& d : *t.dims) {
      if (d.is_unknown()) fixpoint.vary(d, k);
    }
  }
  const std::set<std::string> functions = function_names(c.build().module());
  // Every round turns at least one more dimension into a symbol, so this ends.
  for (;;) {
    std::vector<Type> inputs = before;
    inputs.insert(inputs.end(), body.carried.begin(), body.carried.end());
    inputs.insert(inputs.end(), after.begin(), after.end());
    body.sub = c.import_subgraph(attr, inputs);
    if (body.sub.result_types.size() < first_result + body.carried.size()) {
      c.fail(DiagId::bad_model_file, "its body has {} outputs; at least {} are needed",
             body.sub.result_types.size(), first_result + body.carried.size());
    }
    bool changed = false;
    for (size_t k = 0; k < body.carried.size(); ++k) {
      changed = fixpoint.generalise(k, body.sub.result_types[first_result + k]) || changed;
    }
    if (!changed) return body;
    remove_new_functions(c.build().module(), functions);
  }
}

}  // namespace symtile::onnx_import
