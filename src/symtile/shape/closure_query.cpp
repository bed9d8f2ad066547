// Questions to a closure that need no search: intervals, residues, rewriting, divisibility.
#include <algorithm>

#include "symtile/shape/closure.h"
#include "symtile/shape/dim_node.h"

namespace symtile {

Interval Closure::range(const std::string& symbol) const {
  const auto it = ranges_.find(symbol);
  return it == ranges_.end() ? Interval{Wide{0}, Wide{kMaxDim}} : it->second;
}

Interval Closure::atom_interval(const DimAtom& atom) const {
  if (atom.kind == DimAtom::Kind::symbol) return range(atom.name);
  const Interval a = interval(atom.args[0]);
  const Interval b = interval(atom.args[1]);
  switch (atom.kind) {
    case DimAtom::Kind::floordiv:
      return floordiv_interval(a, b);
    case DimAtom::Kind::min:
      return min_interval(a, b);
    case DimAtom::Kind::max:
      return max_interval(a, b);
    default:
      break;
  }
  Interval out = floormod_interval(a, b);
  if (const auto c = atom.args[1].as_const(); c && *c > 0) {
    // The remainders of a residue class are as far apart as the modulus.
    const Residue r = floormod_residue(residue(atom.args[0]), *c);
    if (r.modulus > 1) out = intersect(out, {r.value, *c - r.modulus + r.value});
    if (r.modulus == 0) out = Interval::exactly(r.value);
  }
  return out;
}

Interval Closure::interval(const DimExpr& e) const {
  if (e.is_unknown()) return {};
  // Nested max and min share operands; walking them as a tree takes exponential time.
  constexpr int kWorthKeeping = 12;
  const bool large = DimBuilder::weight(e) >= kWorthKeeping;
  if (large) {
    if (const auto known = known_interval_.find(e)) return *known;
  }
  Interval total = Interval::exactly(0);
  for (const DimTerm& t : e.terms()) {
    Interval value = Interval::exactly(t.coefficient);
    for (const auto& [atom, exponent] : t.factors) {
      value = value * power(atom_interval(atom), exponent);
    }
    total = total + value;
  }
  return large ? known_interval_.keep(e, total) : total;
}

Residue Closure::atom_residue(const DimAtom& atom) const {
  switch (atom.kind) {
    case DimAtom::Kind::min:
    case DimAtom::Kind::max:
      return join(residue(atom.args[0]), residue(atom.args[1]));
    case DimAtom::Kind::floormod:
      if (const auto c = atom.args[1].as_const(); c && *c > 0) {
        return floormod_residue(residue(atom.args[0]), *c);
      }
      return {};
    default:
      return {};
  }
}

Residue Closure::residue(const DimExpr& e) const {
  if (e.is_unknown()) return {};
  Residue total = Residue::exactly(0);
  for (const DimTerm& t : e.terms()) {
    Residue value = make_residue(0, t.coefficient);
    for (const auto& [atom, exponent] : t.factors) {
      const Residue factor = atom_residue(atom);
      for (int i = 0; i < exponent; ++i) value = value * factor;
    }
    total = total + value;
  }
  return total;
}

// ---------------------------------------------------------------------------- rewriting

namespace {

std::optional<Wide> single_value(const Interval& i) {
  if (i.low && i.high && *i.low == *i.high && fits_int64(*i.low)) return i.low;
  return std::nullopt;
}

// All coefficients of the operand in [0, c): equal quotients get equal operands.
std::optional<DimExpr> divide_fully(const DimExpr& x, int64_t c) {
  const bool negative = std::any_of(x.terms().begin(), x.terms().end(),
                                    [](const DimTerm& t) { return t.coefficient < 0; });
  if (!negative) return std::nullopt;
  DimExpr quotient = 0;
  DimExpr rest = 0;
  for (const DimTerm& t : x.terms()) {
    quotient += DimBuilder::term(floor_div(t.coefficient, c), t.factors);
    rest += DimBuilder::term(floor_mod(t.coefficient, c), t.factors);
  }
  return quotient + floordiv(rest, DimExpr(c));
}

// Removes a factor common to all terms of both, one that `cancels` allows.
template <typename Cancels>
bool cancel_common(DimExpr& x, DimExpr& y, const Cancels& cancels) {
  const DimFactors candidates = y.terms()[0].factors;
  bool changed = false;
  for (const auto& [atom, power] : candidates) {
    const DimExpr factor = DimBuilder::atom(atom);
    for (int i = 0; i < power && cancels(factor); ++i) {
      auto qx = divide_exactly(x, factor);
      auto qy = divide_exactly(y, factor);
      if (!qx || !qy) break;
      x = *std::move(qx);
      y = *std::move(qy);
      changed = true;
    }
  }
  int64_t g = 0;
  for (const DimExpr* e : {&x, &y}) {
    for (const DimTerm& t : e->terms()) g = gcd64(g, t.coefficient);
  }
  if (g > 1) {
    x = *divide_exactly(x, DimExpr(g));
    y = *divide_exactly(y, DimExpr(g));
    changed = true;
  }
  return changed;
}

}  // namespace

std::optional<DimExpr> Closure::divide_symbolically(const DimExpr& x, const DimExpr& y) const {
  if (!nonzero(y)) return std::nullopt;
  if (auto exact = divide_exactly(x, y)) return exact;
  DimExpr quotient = 0;
  DimExpr rest = x;
  if (y.terms().size() == 1) {
    for (const DimTerm& t : x.terms()) {
      const DimExpr part = DimBuilder::term(t.coefficient, t.factors);
      if (const auto q = divide_exactly(part, y)) {
        quotient += *q;
        rest -= part;
      }
    }
  } else {
    // A multiple of the divisor hides in a sum: (n + 1)*m + r over n + 1.
    const DimTerm& lead = y.terms()[0];
    for (const DimTerm& t : x.terms()) {
      const auto q = divide_exactly(DimBuilder::term(t.coefficient, t.factors),
                                    DimBuilder::term(lead.coefficient, lead.factors));
      if (!q) continue;
      const DimExpr smaller = rest - *q * y;
      if (smaller.terms().size() > rest.terms().size()) continue;
      quotient += *q;
      rest = smaller;
    }
  }
  if (rest.is_const(0)) return quotient;
  if (interval(rest).is_nonnegative() && interval(y - rest - 1).is_nonnegative()) return quotient;
  DimExpr divisor = y;
  const bool cancelled =
      cancel_common(rest, divisor, [this](const DimExpr& factor) { return nonzero(factor); });
  if (!cancelled && quotient.is_const(0)) return std::nullopt;
  return quotient + floordiv(rest, divisor);
}

DimExpr Closure::reduce_atoms(const DimExpr& whole) const {
  const auto step = [this](const DimAtom& atom) -> std::optional<DimExpr> {
    if (atom.kind == DimAtom::Kind::symbol) return std::nullopt;
    const DimExpr& x = atom.args[0];
    const DimExpr& y = atom.args[1];
    const auto c = y.as_const();
    switch (atom.kind) {
      case DimAtom::Kind::min:
      case DimAtom::Kind::max: {
        const Interval d = interval(x - y);
        const bool is_max = atom.kind == DimAtom::Kind::max;
        if (d.is_nonnegative()) return is_max ? x : y;
        if (d.high && *d.high <= 0) return is_max ? y : x;
        return std::nullopt;
      }
      case DimAtom::Kind::floordiv: {
        if (const auto value = single_value(floordiv_interval(interval(x), interval(y)))) {
          return DimExpr(static_cast<int64_t>(*value));
        }
        if (c) return divide_fully(x, *c);
        return divide_symbolically(x, y);
      }
      default: {
        if (!nonzero(y)) return std::nullopt;
        if (const auto value = single_value(atom_interval(atom))) {
          return DimExpr(static_cast<int64_t>(*value));
        }
        return x - y * floordiv(x, y);
      }
    }
  };
  DimExpr e = whole;
  for (int round = 0; round < 4 && DimBuilder::has_opaque(e); ++round) {
    DimExpr next = DimBuilder::rewrite(e, step);
    if (next == e) break;
    e = std::move(next);
  }
  return e;
}

DimExpr Closure::reduce(const DimExpr& e) const {
  return reduce_atoms(e.substitute(equal_).substitute(internal_));
}

// ---------------------------------------------------------------------------- divisibility

bool Closure::nonzero(const DimExpr& e) const {
  if (e.is_unknown()) return false;
  if (interval(e).is_nonzero()) return true;
  const Residue r = residue(e);
  if (r.modulus > 1 && r.value != 0) return true;
  if (e.terms().size() != 1) return false;
  const DimFactors& factors = e.terms()[0].factors;
  return std::all_of(factors.begin(), factors.end(), [this](const auto& factor) {
    return atom_interval(factor.first).is_nonzero();
  });
}

bool Closure::divisible(const DimExpr& e, int64_t d) const {
  if (e.is_unknown() || d == 0) return false;
  if (d < 0) d = d == INT64_MIN ? 0 : -d;
  if (d == 1) return true;
  if (d == 0) return false;
  if (residue(e).always_divisible_by(d)) return true;
  int budget = kDivisibilityBudget;
  return divisible_by_facts(e, d, 4, budget) || divisible_everywhere(e, d);
}

std::optional<int64_t> Closure::remainder(const DimExpr& e, int64_t c) const {
  const Residue r = floormod_residue(residue(e), c);
  if (r.modulus == 0) return static_cast<int64_t>(r.value);
  const int64_t constant = constant_part(e);
  int budget = kDivisibilityBudget;
  if (divisible_by_facts(e - constant, c, 4, budget)) return floor_mod(constant, c);
  return std::nullopt;
}

bool Closure::divisible_by_facts(const DimExpr& whole, int64_t d, int depth, int& budget) const {
  std::vector<DimTerm> left;
  for (const DimTerm& t : whole.terms()) {
    if (!residue(DimBuilder::term(t.coefficient, t.factors)).always_divisible_by(d)) {
      left.push_back(t);
    }
  }
  if (left.empty()) return true;
  const DimExpr e = DimBuilder::sorted_sum(std::move(left));
  if (residue(e).always_divisible_by(d)) return true;
  if (depth == 0 || --budget < 0) return false;
  // Subtracts a multiple of a fact that is itself a multiple of d.
  const auto through = [&](const DimExpr& fact, int64_t modulus) {
    for (const DimTerm& pivot : fact.terms()) {
      if (pivot.factors.empty()) continue;
      for (const DimTerm& t : e.terms()) {
        if (Wide{t.coefficient} % pivot.coefficient != 0) continue;
        const auto factors = divide_factors(t.factors, pivot.factors);
        if (!factors) continue;
        const Wide k = Wide{t.coefficient} / pivot.coefficient;
        if (!fits_int64(k) || (k * modulus) % d != 0) continue;
        const DimExpr next = e - DimBuilder::term(static_cast<int64_t>(k), *factors) * fact;
        if (next.terms().size() <= e.terms().size() + 2 &&
            divisible_by_facts(next, d, depth - 1, budget)) {
          return true;
        }
      }
    }
    return false;
  };
  for (const auto& [fact, modulus] : divisible_) {
    if (through(fact, modulus)) return true;
  }
  return std::any_of(zero_.begin(), zero_.end(),
                     [&](const DimExpr& fact) { return through(fact, 0); });
}

// A polynomial in symbols alone takes all its residues on [0, d) per symbol: n*(n + 1) % 2.
bool Closure::divisible_everywhere(const DimExpr& e, int64_t d) const {
  if (d > 16 || DimBuilder::has_opaque(e)) return false;
  const std::set<std::string> symbols = e.symbols();
  if (symbols.empty() || symbols.size() > 2) return false;
  DimExpr small = 0;
  for (const DimTerm& t : e.terms()) small += DimBuilder::term(t.coefficient % d, t.factors);
  if (small.terms().size() > 8 ||
      (!small.terms().empty() && degree(small.terms()[0].factors) > 8)) {
    return false;
  }
  DimValues values;
  const std::string& first = *symbols.begin();
  const std::string& last = *symbols.rbegin();
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = 0; j < (symbols.size() == 2 ? d : 1); ++j) {
      values[last] = j;
      values[first] = i;
      if (floor_mod(small.evaluate(values), d) != 0) return false;
    }
  }
  return true;
}

}  // namespace symtile
