// Symbols: where they come from, and the checks at entry.
#include <algorithm>

#include "symtile/backend/vm/lower_function.h"
#include "symtile/diag/diagnostic.h"

namespace symtile {

uint32_t FunctionLowering::slot(const std::string& name) {
  const auto it = std::find(out_.slot_names.begin(), out_.slot_names.end(), name);
  if (it != out_.slot_names.end()) {
    return static_cast<uint32_t>(it - out_.slot_names.begin());
  }
  out_.slot_names.push_back(name);
  return static_cast<uint32_t>(out_.slot_names.size() - 1);
}

bool FunctionLowering::bound(const DimExpr& e) const {
  const auto symbols = e.symbols();
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](const std::string& s) { return bound_.count(s) != 0; });
}

std::optional<std::string> FunctionLowering::only_unbound(const DimExpr& e) const {
  std::optional<std::string> found;
  for (const std::string& s : e.symbols()) {
    if (bound_.count(s)) continue;
    if (found) return std::nullopt;
    found = s;
  }
  return found;
}

void FunctionLowering::bind_params() {
  for (const std::string& name : f_.dim_params) {
    slot(name);
    bound_.insert(name);
    entry_symbols_.push_back(name);
  }
  // Bare symbols of all parameters before compound dimensions: in (4*n), (n) the second binds.
  struct Compound {
    ValueId param;
    size_t axis;
    DimExpr dim;
    std::string extent;  ///< hidden symbol of the dimension's value
  };
  std::vector<Compound> open;
  const auto what = [&](ValueId id) {
    return is_main_ ? fmt::format("input '{}'", f_.value(id).name)
                    : fmt::format("argument '{}' of '{}'", f_.value(id).name, f_.name);
  };
  const auto bind_dims = [&](ValueId id, std::vector<format::DimRule> rules) {
    const Type& type = f_.type(id);
    emit(format::BindDims{what(id), use(id), type.dtype, type.has_rank(), std::move(rules)});
  };
  for (ValueId id : f_.params) {
    const Type& type = f_.type(id);
    if (!type.is_tensor()) {
      fail(DiagId::bad_module, {}, "parameter '{}' of '{}' is {}, not a tensor", f_.value(id).name,
           f_.name, type.str());
    }
    std::vector<format::DimRule> rules(type.has_rank() ? type.dims->size() : 0);
    for (size_t i = 0; i < rules.size(); ++i) {
      const DimExpr& d = (*type.dims)[i];
      if (d.is_unknown()) continue;
      const auto symbol = d.as_symbol();
      if (bound(d)) {
        rules[i] = {format::DimRule::Kind::check, {}, {formula(d, {}).value}};
      } else if (symbol) {
        rules[i] = {format::DimRule::Kind::bind, {slot(*symbol)}, {}};
        bound_.insert(*symbol);
        entry_symbols_.push_back(*symbol);
      } else {
        const std::string extent = fmt::format("arg{}.shape.{}", reg(id), i);
        rules[i] = {format::DimRule::Kind::bind, {slot(extent)}, {}};
        bound_.insert(extent);
        open.push_back({id, i, d, extent});
      }
    }
    bind_dims(id, std::move(rules));
  }
  // A compound dimension with one symbol still unbound gives its value; then all are checked.
  for (bool progress = true; progress && !open.empty();) {
    progress = false;
    for (auto it = open.begin(); it != open.end();) {
      if (const auto symbol = only_unbound(it->dim)) {
        const auto solution = f_.facts.solve(it->dim, DimExpr::symbol(it->extent), *symbol);
        if (solution && bound(*solution)) {
          emit(format::EvalDim{{slot(*symbol)}, formula(*solution, {})});
          bound_.insert(*symbol);
          entry_symbols_.push_back(*symbol);
        }
      }
      if (!bound(it->dim)) {
        ++it;
        continue;
      }
      std::vector<format::DimRule> rules(f_.type(it->param).dims->size());
      rules[it->axis] = {format::DimRule::Kind::check, {}, {formula(it->dim, {}).value}};
      bind_dims(it->param, std::move(rules));
      it = open.erase(it);
      progress = true;
    }
  }
  if (!open.empty()) {
    fail(DiagId::bad_module, {},
         "{}: the symbols of dimension {} ({}) cannot be found from the shapes",
         what(open.front().param), open.front().axis, open.front().dim.str());
  }
  entry_scope_.insert(entry_symbols_.begin(), entry_symbols_.end());
}

void FunctionLowering::bind_type(const std::string& what, uint32_t reg, const Type& type,
                                 const Location& location) {
  if (!type.is_tensor()) return;
  std::vector<format::DimRule> rules(type.has_rank() ? type.dims->size() : 0);
  std::vector<std::pair<size_t, std::string>> solved;  // axis, hidden symbol of its value
  for (size_t i = 0; i < rules.size(); ++i) {
    const DimExpr& d = (*type.dims)[i];
    if (d.is_unknown()) continue;
    if (bound(d)) {
      rules[i] = {format::DimRule::Kind::check, {}, {formula(d, location).value}};
    } else if (const auto symbol = d.as_symbol()) {
      rules[i] = {format::DimRule::Kind::bind, {slot(*symbol)}, {}};
      bound_.insert(*symbol);
    } else {
      solved.emplace_back(i, fmt::format("value{}.shape.{}", reg, i));
      rules[i] = {format::DimRule::Kind::bind, {slot(solved.back().second)}, {}};
      bound_.insert(solved.back().second);
    }
  }
  emit(format::BindDims{what, {reg}, type.dtype, type.has_rank(), rules});
  if (solved.empty()) return;
  rules.assign(rules.size(), {});
  for (const auto& [axis, extent] : solved) {
    const DimExpr& d = (*type.dims)[axis];
    if (const auto symbol = only_unbound(d)) {
      const auto solution = f_.facts.solve(d, DimExpr::symbol(extent), *symbol);
      if (solution && bound(*solution)) {
        emit(format::EvalDim{{slot(*symbol)}, formula(*solution, location)});
        bound_.insert(*symbol);
      }
    }
    rules[axis] = {format::DimRule::Kind::check, {}, {formula(d, location).value}};
  }
  emit(format::BindDims{what, {reg}, type.dtype, true, std::move(rules)});
}

void FunctionLowering::check(format::Relation relation, const DimExpr& a, const DimExpr& b,
                             const std::string& message) {
  emit(format::CheckDims{relation, formula(a, {}), formula(b, {}), message});
}

void FunctionLowering::check_entry_dims() {
  for (const Binding& b : f_.bindings) {
    const auto* n = std::get_if<CheckDims>(&b.node);
    if (!n || !bound(n->a) || !bound(n->b)) continue;
    const std::string where = describe(b.location);
    check(format::Relation::equal, n->a, n->b,
          where.empty() ? n->message : fmt::format("{}: {}", where, n->message));
  }
  // Facts of other functions follow from those of the entry and from what their callers pass.
  if (is_main_) check_facts(f_.facts);
}

void FunctionLowering::check_facts(const Facts& facts) {
  using format::Relation;
  const std::string message = "the model was compiled with this fact";
  for (const auto& [symbol, range] : facts.ranges()) {
    const DimExpr s = DimExpr::symbol(symbol);
    if (!bound(s)) continue;
    // A dimension lies in [0, kMaxDim] anyway.
    if (range.low && *range.low > 0) check(Relation::less_equal, *range.low, s, message);
    if (range.high && *range.high < kMaxDim) check(Relation::less_equal, s, *range.high, message);
  }
  for (const auto& [expr, divisor] : facts.divisors()) {
    if (bound(expr)) check(Relation::equal, floormod(expr, divisor), 0, message);
  }
  for (const auto& [relation, list] : {std::pair(Relation::equal, &facts.equalities()),
                                       std::pair(Relation::less_equal, &facts.inequalities())}) {
    for (const auto& [a, b] : *list) {
      if (bound(a) && bound(b)) check(relation, a, b, message);
    }
  }
}

}  // namespace symtile
