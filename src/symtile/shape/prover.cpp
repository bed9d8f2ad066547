#include "symtile/shape/prover.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "symtile/shape/dim_node.h"
#include "symtile/shape/linear.h"

namespace symtile {
namespace {

constexpr int kMaxDepth = 4;
constexpr int64_t kMaxResidues = 12;
// Extents of several broadcasts nest max and min; programs about them are as much larger.
constexpr int kWeightOfOneProgram = 24;

// Some atom below `e`, operands first, that `wanted` accepts.
template <typename Wanted>
const DimAtom* find_atom(const DimExpr& e, const Wanted& wanted) {
  for (const DimTerm& t : e.terms()) {
    for (const auto& [atom, power] : t.factors) {
      for (const DimExpr& arg : atom.args) {
        if (const DimAtom* inner = find_atom(arg, wanted)) return inner;
      }
      if (wanted(atom)) return &atom;
    }
  }
  return nullptr;
}

// Constant divisors of everything that contains the symbol, as a common multiple.
void collect_divisors(const DimExpr& e, std::map<std::string, int64_t>& out) {
  for (const DimTerm& t : e.terms()) {
    for (const auto& [atom, power] : t.factors) {
      for (const DimExpr& arg : atom.args) collect_divisors(arg, out);
      if (atom.kind != DimAtom::Kind::floordiv) continue;
      const auto c = atom.args[1].as_const();
      if (!c) continue;
      for (const std::string& s : atom.args[0].symbols()) {
        int64_t& multiple = out.try_emplace(s, 1).first->second;
        if (multiple > kMaxResidues || *c > kMaxResidues) {
          multiple = kMaxResidues + 1;
        } else {
          multiple = std::lcm(multiple, *c);
        }
      }
    }
  }
}

}  // namespace

// Tries a few assignments: most questions that cannot be proved are answered here, cheaply.
bool Prover::refuted(const DimExpr& e, bool want_zero) const {
  std::set<std::string> symbols = e.symbols();
  for (const DimExpr& f : closure_.nonnegative()) f.collect_symbols(symbols);
  for (const DimExpr& f : closure_.zero()) f.collect_symbols(symbols);
  for (const auto& [f, d] : closure_.divisible_facts()) f.collect_symbols(symbols);
  if (symbols.size() > 16) return false;
  constexpr std::array<int64_t, 8> kOffsets = {0, 1, 2, 3, 5, 8, 13, 31};
  for (size_t trial = 0; trial < 10; ++trial) {
    DimValues values;
    size_t k = 0;
    for (const std::string& s : symbols) {
      const Interval r = closure_.range(s);
      const int64_t offset = trial < 2 ? 0 : kOffsets[(trial * (2 * k + 1) + k) % kOffsets.size()];
      Wide v = r.low.value_or(-2) + offset;
      if (trial == 1 && r.high) v = *r.high;
      if (trial == 9) v = r.low.value_or(0) + 97 + 10 * static_cast<Wide>(k);
      if (r.high && v > *r.high) v = *r.high;
      if (!fits_int64(v)) return false;
      values[s] = static_cast<int64_t>(v);
      ++k;
    }
    try {
      const auto at = [&](const DimExpr& x) { return x.evaluate(values); };
      const bool admissible =
          std::all_of(closure_.nonnegative().begin(), closure_.nonnegative().end(),
                      [&](const DimExpr& f) { return at(f) >= 0; }) &&
          std::all_of(closure_.zero().begin(), closure_.zero().end(),
                      [&](const DimExpr& f) { return at(f) == 0; }) &&
          std::all_of(closure_.divisible_facts().begin(), closure_.divisible_facts().end(),
                      [&](const auto& f) { return floor_mod(at(f.first), f.second) == 0; });
      if (admissible && (want_zero ? at(e) != 0 : at(e) < 0)) return true;
    } catch (const DiagnosticError&) {
      // No value here (a zero divisor, an overflow): the trial says nothing.
    }
  }
  return false;
}

bool Prover::nonnegative(const DimExpr& e) {
  if (e.is_unknown()) return false;
  if (closure_.contradictory()) return true;
  if (closure_.interval(e).is_nonnegative()) return true;
  if (e.is_const()) return false;
  if (const auto known = closure_.known_nonnegative().find(e)) return *known;
  return closure_.known_nonnegative().keep(e, !refuted(e, false) && search(closure_, e, 0));
}

bool Prover::is_zero(const DimExpr& e) {
  if (e.is_unknown()) return false;
  if (e.is_const(0) || closure_.contradictory()) return true;
  if (e.is_const()) return false;
  const Interval i = closure_.interval(e);
  if ((i.low && *i.low > 0) || (i.high && *i.high < 0)) return false;
  if (const auto known = closure_.known_zero().find(e)) return *known;
  return closure_.known_zero().keep(
      e, !refuted(e, true) && search(closure_, e, 0) && search(closure_, -e, 0));
}

bool Prover::is_nonzero(const DimExpr& e) {
  if (e.is_unknown()) return false;
  if (closure_.contradictory() || closure_.nonzero(e)) return true;
  if (e.is_const()) return false;
  for (const auto& [fact, d] : closure_.divisible_facts()) {
    // e = fact + constant, and the constant is no multiple of d
    for (const DimExpr& difference : {e - fact, e + fact}) {
      if (const auto c = difference.as_const(); c && floor_mod(*c, d) != 0) return true;
    }
  }
  return nonnegative(e - 1) || nonnegative(-e - 1);
}

std::optional<Wide> Prover::lower_bound(const DimExpr& e) {
  std::optional<Wide> best = closure_.interval(e).low;
  if (e.is_const() || closure_.contradictory()) return best;
  const bool plain = e.terms().size() == 1 && !DimBuilder::has_opaque(e);
  if (plain && closure_.nonnegative().empty() && closure_.zero().empty()) return best;
  const auto linear = linear_lower_bound(e, relevant_constraints(closure_, e), 0);
  if (linear && (!best || *linear > *best)) best = linear;
  const Residue r = closure_.residue(e);
  if (best && r.modulus > 1) *best += floor_mod(r.value - *best, r.modulus);
  return best;
}

bool Prover::search(const Closure& closure, const DimExpr& given, int depth) {
  const DimExpr e = tightened(given);
  if (closure.contradictory() || closure.interval(e).is_nonnegative()) return true;
  if (budget_ <= 0) return false;
  budget_ -= 1 + DimBuilder::weight(e) / kWeightOfOneProgram;
  const auto bound = linear_lower_bound(e, relevant_constraints(closure, e), 0);
  if (bound && *bound >= 0) return true;
  if (depth >= kMaxDepth) return false;
  return split_extremum(closure, e, depth) || split_residue(closure, e, depth);
}

bool Prover::split_extremum(const Closure& closure, const DimExpr& e, int depth) {
  const DimAtom* found = find_atom(e, [](const DimAtom& a) {
    return a.kind == DimAtom::Kind::min || a.kind == DimAtom::Kind::max;
  });
  if (found == nullptr) return false;
  budget_ -= 2 * DimBuilder::weight(e) / kWeightOfOneProgram;  // both cases rewrite everything
  const DimAtom atom = *found;
  const DimExpr& x = atom.args[0];
  const DimExpr& y = atom.args[1];
  const bool is_max = atom.kind == DimAtom::Kind::max;
  // x >= y, and then x < y
  for (const bool x_greater : {true, false}) {
    const DimExpr& value = x_greater == is_max ? x : y;
    const Closure one =
        closure.with_replaced(atom, value).with_nonnegative(x_greater ? x - y : y - x - 1);
    if (!search(one, one.reduce(DimBuilder::replace(e, atom, value)), depth + 1)) return false;
  }
  return true;
}

bool Prover::split_residue(const Closure& closure, const DimExpr& e, int depth) {
  std::map<std::string, int64_t> divisors;
  collect_divisors(e, divisors);
  const std::pair<const std::string, int64_t>* best = nullptr;
  for (const auto& candidate : divisors) {
    if (candidate.second < 2 || candidate.second > kMaxResidues) continue;
    if (best == nullptr || candidate.second < best->second) best = &candidate;
  }
  // All cases must fit in what is left of the budget, or the split is wasted work.
  if (best == nullptr || best->second > budget_) return false;
  for (int64_t r = 0; r < best->second; ++r) {
    DimExpr value;
    const Closure one = closure.with_residue(best->first, best->second, r, &value);
    if (!search(one, one.reduce(e), depth + 1)) return false;
  }
  return true;
}

}  // namespace symtile
