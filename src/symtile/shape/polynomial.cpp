// Algebra on canonical polynomials: isolating a symbol, exact division.
#include <algorithm>

#include "symtile/shape/closure.h"
#include "symtile/shape/dim_node.h"

namespace symtile {

std::optional<LinearIn> linear_in(const DimExpr& e, const std::string& symbol) {
  if ((DimBuilder::symbol_mask(e) & DimBuilder::symbol_bit(symbol)) == 0) return std::nullopt;
  std::vector<DimTerm> with;
  std::vector<DimTerm> without;
  for (const DimTerm& t : e.terms()) {
    DimTerm rest{t.coefficient, {}};
    bool found = false;
    for (const auto& [atom, power] : t.factors) {
      if (atom.kind == DimAtom::Kind::symbol && atom.name == symbol) {
        if (power != 1) return std::nullopt;
        found = true;
        continue;
      }
      for (const DimExpr& arg : atom.args) {
        if (arg.symbols().contains(symbol)) return std::nullopt;
      }
      rest.factors.emplace_back(atom, power);
    }
    (found ? with : without).push_back(std::move(rest));
  }
  if (with.empty()) return std::nullopt;
  return LinearIn{DimBuilder::sum(std::move(with)), DimBuilder::sum(std::move(without))};
}

std::optional<SolvedSymbol> orient(const DimExpr& difference, const std::string& preferred) {
  std::optional<SolvedSymbol> best;
  for (const DimTerm& t : difference.terms()) {
    if (t.factors.size() != 1 || t.factors[0].second != 1) continue;
    if (t.coefficient != 1 && t.coefficient != -1) continue;
    const DimAtom& atom = t.factors[0].first;
    if (atom.kind != DimAtom::Kind::symbol) continue;
    // Eliminate the preferred name, else the last one, so that the result does not depend on
    // which side of the equality a symbol stood.
    if (best &&
        (best->symbol == preferred || (atom.name != preferred && atom.name < best->symbol))) {
      continue;
    }
    const auto parts = linear_in(difference, atom.name);
    if (!parts || !parts->coefficient.is_const()) continue;
    best = SolvedSymbol{atom.name, t.coefficient == 1 ? -parts->rest : parts->rest};
  }
  return best;
}

std::optional<DimExpr> divide_exactly(const DimExpr& a, const DimExpr& b) {
  if (b.terms().empty()) return std::nullopt;
  const DimTerm& lead = b.terms()[0];
  DimExpr rest = a;
  DimExpr quotient = 0;
  for (size_t step = 0; step <= a.terms().size() + 8; ++step) {
    if (rest.terms().empty()) return quotient;
    const DimTerm& top = rest.terms()[0];
    if (lead.coefficient == -1 ? top.coefficient == INT64_MIN
                               : top.coefficient % lead.coefficient != 0) {
      return std::nullopt;
    }
    const auto factors = divide_factors(top.factors, lead.factors);
    if (!factors) return std::nullopt;
    const DimExpr part = DimBuilder::term(top.coefficient / lead.coefficient, *factors);
    quotient += part;
    rest -= part * b;
  }
  return std::nullopt;
}

DimExpr tightened(const DimExpr& e) {
  int64_t g = 0;
  for (const DimTerm& t : e.terms()) {
    if (!t.factors.empty()) g = gcd64(g, t.coefficient);
    if (g == 1) return e;
  }
  if (g == 0) return e;
  std::vector<DimTerm> terms;
  for (const DimTerm& t : e.terms()) {
    const int64_t k = floor_div(t.coefficient, g);
    if (k != 0) terms.push_back(DimTerm{k, t.factors});
  }
  return DimBuilder::sorted_sum(std::move(terms));
}

std::optional<Affine> as_affine(const DimExpr& e) {
  if (e.is_unknown() || e.terms().empty() || e.terms().size() > 2) return std::nullopt;
  const DimTerm& t = e.terms()[0];
  if (t.factors.size() != 1 || t.factors[0].second != 1) return std::nullopt;
  if (t.factors[0].first.kind != DimAtom::Kind::symbol) return std::nullopt;
  if (e.terms().size() == 2 && !e.terms()[1].factors.empty()) return std::nullopt;
  return Affine{t.factors[0].first.name, t.coefficient, constant_part(e)};
}

}  // namespace symtile
