#include "symtile/driver/memory_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace symtile {
namespace {

constexpr size_t kShort = 100;  ///< characters of a formula that is printed as it is

/// Symbol -> power.
using Monomial = std::map<std::string, int>;
using Bound = std::map<Monomial, double>;

Bound bound_of(const DimExpr& e);

Bound product_of(const Bound& a, const Bound& b) {
  Bound out;
  for (const auto& [left, x] : a) {
    for (const auto& [right, y] : b) {
      Monomial both = left;
      for (const auto& [symbol, power] : right) both[symbol] += power;
      out[both] += x * y;
    }
  }
  return out;
}

Bound scaled(Bound a, double factor) {
  for (auto& [monomial, coefficient] : a) coefficient *= factor;
  return a;
}

/// A product that one side lacks has the coefficient 0 there.
Bound larger(const Bound& a, const Bound& b) {
  Bound out;
  for (const auto* side : {&a, &b}) {
    for (const auto& [monomial, coefficient] : *side) {
      const Bound& other = side == &a ? b : a;
      const auto found = other.find(monomial);
      out[monomial] = std::max(coefficient, found == other.end() ? 0.0 : found->second);
    }
  }
  return out;
}

Bound constant(double value) { return {{Monomial{}, value}}; }

Bound bound_of(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return {{Monomial{{atom.name, 1}}, 1.0}};
    case DimAtom::Kind::max:
      return larger(bound_of(atom.args[0]), bound_of(atom.args[1]));
    case DimAtom::Kind::min:
      return bound_of(atom.args[atom.args[1].is_const() ? 1 : 0]);
    case DimAtom::Kind::floordiv: {
      const auto divisor = atom.args[1].as_const();
      return scaled(bound_of(atom.args[0]), divisor ? 1.0 / static_cast<double>(*divisor) : 1.0);
    }
    case DimAtom::Kind::floormod: {
      const auto divisor = atom.args[1].as_const();
      return divisor ? constant(static_cast<double>(*divisor - 1)) : bound_of(atom.args[1]);
    }
  }
  return {};
}

Bound bound_of(const DimExpr& e) {
  Bound out;
  for (const DimTerm& term : e.terms()) {
    if (term.coefficient < 0 && !term.factors.empty()) continue;
    Bound factor = constant(static_cast<double>(term.coefficient));
    for (const auto& [atom, power] : term.factors) {
      for (int i = 0; i < power; ++i) factor = product_of(factor, bound_of(atom));
    }
    for (const auto& [monomial, coefficient] : factor) out[monomial] += coefficient;
  }
  return out;
}

}  // namespace

DimExpr polynomial_bound(const DimExpr& bytes) {
  DimExpr out;
  for (const auto& [monomial, coefficient] : bound_of(bytes)) {
    if (coefficient <= 0) continue;
    DimExpr term = static_cast<int64_t>(std::ceil(coefficient));
    for (const auto& [symbol, power] : monomial) {
      for (int i = 0; i < power; ++i) term *= DimExpr::symbol(symbol);
    }
    out += term;
  }
  return out;
}

std::string short_formula(const DimExpr& bytes) {
  if (bytes.is_unknown()) return "?";
  std::string text = bytes.str();
  return text.size() <= kShort ? text : fmt::format("at most {}", polynomial_bound(bytes).str());
}

}  // namespace symtile
