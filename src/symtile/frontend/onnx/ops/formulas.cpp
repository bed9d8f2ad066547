// Dimension formulas shared by the importers of shape operators.
#include "symtile/frontend/onnx/ops/formulas.h"

#include <algorithm>

namespace symtile::onnx_import {

namespace {

DimExpr to_formula(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return DimExpr::symbol(atom.name);
    case DimAtom::Kind::floordiv:
      return floordiv(atom.args[0], atom.args[1]);
    case DimAtom::Kind::floormod:
      return floormod(atom.args[0], atom.args[1]);
    case DimAtom::Kind::min:
      return min(atom.args[0], atom.args[1]);
    case DimAtom::Kind::max:
      return max(atom.args[0], atom.args[1]);
  }
  SYMTILE_UNREACHABLE();
}

/// Power of `atom` in `term`.
int power_in(const DimTerm& term, const DimAtom& atom) {
  for (const auto& [other, power] : term.factors) {
    if (DimAtom::compare(other, atom) == 0) return power;
  }
  return 0;
}

/// `whole` without `atom` to the given power, which every term must have.
DimExpr without(const DimExpr& whole, const DimAtom& atom, int power) {
  DimExpr sum = 0;
  for (const DimTerm& t : whole.terms()) {
    DimExpr term = t.coefficient;
    for (const auto& [other, have] : t.factors) {
      const int keep = DimAtom::compare(other, atom) == 0 ? have - power : have;
      for (int i = 0; i < keep; ++i) term *= to_formula(other);
    }
    sum += term;
  }
  return sum;
}

/// Takes the factors of the monomial `part` that all terms of `whole` share out of both.
void cancel_atoms(DimExpr& whole, DimExpr& part) {
  if (part.terms().size() != 1 || whole.terms().empty()) return;
  const DimTerm divisor = part.terms()[0];
  for (const auto& [atom, power] : divisor.factors) {
    int shared = power;
    for (const DimTerm& t : whole.terms()) shared = std::min(shared, power_in(t, atom));
    if (shared == 0) continue;
    whole = without(whole, atom, shared);
    part = without(part, atom, shared);
  }
}

}  // namespace

ValueId with_known_dims(ImportContext& c, ValueId x) {
  const Type type = c.build().type(x);
  if (!type.has_rank()) {
    c.fail(DiagId::unsupported, "the rank of an input must be known at import, but is not");
  }
  Dims dims = *type.dims;
  bool all_known = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].is_unknown()) continue;
    dims[d] = DimExpr::symbol(c.build().fresh_symbol("d" + std::to_string(d)));
    all_known = false;
  }
  return all_known ? x : c.build().match_cast(x, Type::tensor(std::move(dims), type.dtype));
}

DimExpr quotient(const Dims& whole, const Dims& part, const Facts& facts) {
  Dims left = whole, right;
  for (const DimExpr& p : part) {
    const auto same = std::find_if(left.begin(), left.end(), [&](const DimExpr& w) {
      return !w.is_unknown() && !w.is_const() && facts.proves_equal(w, p);
    });
    if (same == left.end()) {
      right.push_back(p);
    } else {
      left.erase(same);
    }
  }
  DimExpr above = facts.simplify(product(left)), below = facts.simplify(product(right));
  if (above.is_unknown() || below.is_unknown()) return DimExpr::unknown();
  cancel_atoms(above, below);
  return facts.simplify(floordiv(above, below));
}

DimExpr is_positive(const DimExpr& x) { return min(max(x, 0), 1); }

ValueId name_dims(ImportContext& c, ValueId value, const std::vector<bool>& which,
                  const char* hint) {
  if (std::find(which.begin(), which.end(), true) == which.end()) return value;
  Type type = c.build().type(value);
  for (size_t d = 0; d < which.size(); ++d) {
    if (which[d]) (*type.dims)[d] = DimExpr::symbol(c.build().fresh_symbol(hint));
  }
  return c.build().match_cast(value, std::move(type));
}

Dims require_simple_dims(ImportContext& c, int i) {
  Dims dims = c.require_dims(i);
  for (DimExpr& d : dims) d = c.facts().simplify(d);
  return dims;
}

}  // namespace symtile::onnx_import
