// The questions of Facts that are answered by the prover, and solving for a symbol.
#include "symtile/shape/closure.h"
#include "symtile/shape/dim_node.h"
#include "symtile/shape/prover.h"

namespace symtile {
namespace {

// An overflow inside a proof means only that this proof was not found.
template <typename Question>
bool proved(const Question& question) {
  try {
    return question();
  } catch (const DiagnosticError&) {
    return false;
  }
}

std::optional<int64_t> narrow(const std::optional<Wide>& v) {
  if (!v || !fits_int64(*v)) return std::nullopt;
  return static_cast<int64_t>(*v);
}

}  // namespace

bool Facts::proves_equal(const DimExpr& a, const DimExpr& b) const {
  if (a.is_unknown() || b.is_unknown()) return false;
  if (a == b) return true;
  if (a.is_const() && b.is_const()) return false;
  return proved([&] {
    const auto known = closure();
    return Prover(*known).is_zero(known->reduce(a - b));
  });
}

bool Facts::proves_not_equal(const DimExpr& a, const DimExpr& b) const {
  if (a.is_unknown() || b.is_unknown() || a == b) return false;
  if (a.is_const() && b.is_const()) return true;
  return proved([&] {
    const auto known = closure();
    return Prover(*known).is_nonzero(known->reduce(a - b));
  });
}

bool Facts::proves_le(const DimExpr& a, const DimExpr& b) const {
  if (a.is_unknown() || b.is_unknown()) return false;
  if (a == b) return true;
  if (const auto x = a.as_const(), y = b.as_const(); x && y) return *x <= *y;
  return proved([&] {
    const auto known = closure();
    return Prover(*known).nonnegative(known->reduce(b - a));
  });
}

bool Facts::proves_divisible(const DimExpr& a, int64_t divisor) const {
  if (a.is_unknown() || divisor == 0) return false;
  return proved([&] {
    const auto known = closure();
    return known->contradictory() || known->divisible(known->reduce(a), divisor);
  });
}

DimRange Facts::range(const DimExpr& a) const {
  if (a.is_unknown()) return {};
  if (const auto value = a.as_const()) return {*value, *value};
  DimRange out;
  const auto known = closure();
  const auto end = [&](const DimExpr& e) -> std::optional<Wide> {
    try {
      return Prover(*known).lower_bound(known->reduce(e));
    } catch (const DiagnosticError&) {
      return std::nullopt;
    }
  };
  out.low = narrow(end(a));
  try {
    if (const auto low = end(-a)) out.high = narrow(-*low);
  } catch (const DiagnosticError&) {
    // The negation overflows: no upper bound is known.
  }
  return out;
}

std::optional<DimExpr> Facts::solve(const DimExpr& lhs, const DimExpr& rhs,
                                    const std::string& symbol) const {
  if (lhs.is_unknown() || rhs.is_unknown()) return std::nullopt;
  try {
    const auto known = closure();
    // Divisions by a divisor of their operand are ordinary fractions: x // c == r is x == c*r.
    DimExpr e = lhs - rhs;
    for (int round = 0; round < 4; ++round) {
      if (const auto parts = linear_in(e, symbol)) {
        DimExpr coefficient = parts->coefficient;
        DimExpr value = -parts->rest;
        if (!known->nonzero(known->reduce(coefficient))) return std::nullopt;
        if (known->interval(known->reduce(coefficient)).high.value_or(1) < 0) {
          coefficient = -coefficient;
          value = -value;
        }
        if (const auto c = coefficient.as_const(); c && *c != 1) {
          if (known->residue(known->reduce(value)).never_divisible_by(*c)) return std::nullopt;
        }
        if (auto exact = divide_exactly(value, coefficient)) return simplify(*exact);
        return simplify(floordiv(value, coefficient));
      }
      bool opened = false;
      for (const DimTerm& t : e.terms()) {
        if (t.factors.size() != 1 || t.factors[0].second != 1) continue;
        const DimAtom& atom = t.factors[0].first;
        if (atom.kind != DimAtom::Kind::floordiv || !atom.args[0].symbols().contains(symbol)) {
          continue;
        }
        const auto c = atom.args[1].as_const();
        if (!c || !known->divisible(known->reduce(atom.args[0]), *c)) continue;
        // k*(x // c) + rest == 0  is  k*x + c*rest == 0
        const DimExpr rest = e - DimBuilder::term(t.coefficient, t.factors);
        e = t.coefficient * atom.args[0] + *c * rest;
        opened = true;
        break;
      }
      if (!opened) return std::nullopt;
    }
  } catch (const DiagnosticError&) {
    // Overflow on the way: no answer.
  }
  return std::nullopt;
}

}  // namespace symtile
