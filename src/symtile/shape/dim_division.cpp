// floordiv and floormod in canonical form.
//
// By a constant c > 0, multiples of c leave the operand, a common factor cancels, and nested
// divisions merge: (4*n + 8) // 4 = n + 2, (2*n + 1) // 4 = n // 2, (n // 2) // 3 = n // 6.
// Division by an expression stays opaque: it may be zero, and only Facts can tell.
#include <algorithm>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

struct Split {
  DimExpr quotient;
  std::vector<DimTerm> rest;  ///< still in canonical order
};

// operand = c * quotient + rest. The constant of the rest lies in [0, c); other coefficients keep
// their sign, so that (m - n) // 2 stays readable.
Split split_by(const DimExpr& operand, int64_t c) {
  std::vector<DimTerm> quotient;
  std::vector<DimTerm> rest;
  for (const DimTerm& t : operand.terms()) {
    const int64_t q = t.factors.empty() ? floor_div(t.coefficient, c) : t.coefficient / c;
    const int64_t r = t.coefficient - q * c;
    if (q != 0) quotient.push_back(DimTerm{q, t.factors});
    if (r != 0) rest.push_back(DimTerm{r, t.factors});
  }
  return {DimBuilder::sorted_sum(std::move(quotient)), std::move(rest)};
}

int64_t common_factor(const std::vector<DimTerm>& terms, int64_t c) {
  int64_t g = c;
  for (const DimTerm& t : terms) {
    if (!t.factors.empty()) g = gcd64(g, t.coefficient);
  }
  return g;
}

// Divides all coefficients by g; the constant rounds down.
DimExpr divided(const std::vector<DimTerm>& terms, int64_t g) {
  std::vector<DimTerm> out;
  for (const DimTerm& t : terms) {
    const int64_t k = floor_div(t.coefficient, g);
    if (k != 0) out.push_back(DimTerm{k, t.factors});
  }
  return DimBuilder::sorted_sum(std::move(out));
}

// True if the terms are seen, without any facts, to lie in [0, c): remainders and constants.
bool lies_below(const std::vector<DimTerm>& terms, int64_t c) {
  Wide high = 0;
  for (const DimTerm& t : terms) {
    if (t.coefficient < 0) return false;
    Wide most = 1;
    for (const auto& [atom, power] : t.factors) {
      if (atom.kind != DimAtom::Kind::floormod || power != 1) return false;
      const auto d = atom.args[1].as_const();
      if (!d || *d <= 0) return false;
      most *= *d - 1;
      if (most >= c) return false;
    }
    high += most * t.coefficient;
    if (high >= c) return false;
  }
  return true;
}

bool scales_safely(const std::vector<DimTerm>& terms, int64_t k) {
  return std::all_of(terms.begin(), terms.end(), [k](const DimTerm& t) {
    const Wide v = Wide{t.coefficient} * k;
    return v < (Wide{1} << 62) && v > -(Wide{1} << 62);
  });
}

DimExpr divide_by_constant(const DimExpr& operand, int64_t c) {
  auto [quotient, rest] = split_by(operand, c);
  if (lies_below(rest, c)) return quotient;
  if (const int64_t g = common_factor(rest, c); g > 1) {
    const DimExpr reduced = divided(rest, g);
    if (g == c) return quotient + reduced;
    return quotient + divide_by_constant(reduced, c / g);
  }
  // (x // d + y) // c = (x + d*y) // (c*d)
  for (size_t i = 0; i < rest.size(); ++i) {
    const DimTerm& t = rest[i];
    if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0].second != 1) continue;
    const DimAtom& atom = t.factors[0].first;
    if (atom.kind != DimAtom::Kind::floordiv) continue;
    const auto d = atom.args[1].as_const();
    if (!d || Wide{*d} * c >= (Wide{1} << 62) || !scales_safely(rest, *d)) continue;
    std::vector<DimTerm> others = rest;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const DimExpr merged = atom.args[0] + *d * DimBuilder::sorted_sum(std::move(others));
    return quotient + divide_by_constant(merged, *d * c);
  }
  DimExpr remaining = DimBuilder::sorted_sum(std::move(rest));
  // (x % d) // c = (x // c) % (d // c) when c divides d
  if (const DimAtom* mod = as_opaque(remaining, DimAtom::Kind::floormod)) {
    const auto d = mod->args[1].as_const();
    if (d && *d > 0 && *d % c == 0) {
      return quotient + floormod(floordiv(mod->args[0], c), DimExpr(*d / c));
    }
  }
  return quotient + DimBuilder::opaque(DimAtom::Kind::floordiv, remaining, DimExpr(c));
}

DimExpr remainder_by_constant(const DimExpr& operand, int64_t c) {
  std::vector<DimTerm> rest = split_by(operand, c).rest;
  if (lies_below(rest, c)) return DimBuilder::sorted_sum(std::move(rest));
  if (const int64_t g = common_factor(rest, c); g > 1) {
    // (g*x + r) % (g*c') = g * ((x + r // g) % c') + r % g
    const int64_t r = rest.back().factors.empty() ? rest.back().coefficient % g : 0;
    if (g == c) return DimExpr(r);
    return g * remainder_by_constant(divided(rest, g), c / g) + r;
  }
  // (x % d + y) % c = (x + y) % c when c divides d
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i].factors.size() != 1 || rest[i].factors[0].second != 1) continue;
    const DimAtom& atom = rest[i].factors[0].first;
    if (atom.kind != DimAtom::Kind::floormod) continue;
    const auto d = atom.args[1].as_const();
    if (!d || *d % c != 0) continue;
    const int64_t k = rest[i].coefficient;
    const DimExpr inner = atom.args[0];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    return remainder_by_constant(k * inner + DimBuilder::sorted_sum(std::move(rest)), c);
  }
  return DimBuilder::opaque(DimAtom::Kind::floormod, DimBuilder::sorted_sum(std::move(rest)),
                            DimExpr(c));
}

void reject_zero_divisor(const DimExpr& a, const char* sign) {
  fail(DiagId::dimension_overflow, {}, "{} {} 0: division of a dimension by zero", a.str(), sign);
}

}  // namespace

DimExpr floordiv(const DimExpr& a, const DimExpr& b) {
  const auto c = b.as_const();
  if (c == 0) reject_zero_divisor(a, "//");
  if (a.is_unknown() || b.is_unknown()) return DimExpr::unknown();
  if (!c) return DimBuilder::opaque(DimAtom::Kind::floordiv, a, b);
  if (c == 1) return a;
  if (const auto v = a.as_const()) return DimExpr(checked_floordiv(*v, *c));
  if (*c < 0) return floordiv(-a, -b);
  return divide_by_constant(a, *c);
}

DimExpr floormod(const DimExpr& a, const DimExpr& b) {
  const auto c = b.as_const();
  if (c == 0) reject_zero_divisor(a, "%");
  if (a.is_unknown() || b.is_unknown()) return DimExpr::unknown();
  if (!c) return DimBuilder::opaque(DimAtom::Kind::floormod, a, b);
  if (c == 1 || c == -1) return DimExpr(0);
  if (const auto v = a.as_const()) return DimExpr(checked_floormod(*v, *c));
  if (*c < 0) return -floormod(-a, -b);
  return remainder_by_constant(a, *c);
}

DimExpr ceildiv(const DimExpr& a, const DimExpr& b) {
  // For a negative divisor the textbook formula is wrong; this one is right for every sign.
  if (const auto c = b.as_const(); c && *c <= 0) return -floordiv(-a, b);
  return floordiv(a + b - 1, b);
}

DimExpr round_up(const DimExpr& a, int64_t unit) {
  SYMTILE_CHECK(unit > 0, "round_up to {}", unit);
  return ceildiv(a, DimExpr(unit)) * unit;
}

}  // namespace symtile
