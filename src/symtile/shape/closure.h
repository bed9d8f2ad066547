// Facts in the form the prover works with.
//
// Private to shape/. Equalities become one idempotent substitution; symbols known modulo d become
// d*q + r with an internal quotient symbol "q/..."; ranges are tightened by the inequalities. Built
// once per set of facts and then only read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symtile/shape/answer_cache.h"
#include "symtile/shape/facts.h"
#include "symtile/shape/interval.h"

namespace symtile {

class Closure {
 public:
  explicit Closure(const Facts& facts);

  Interval range(const std::string& symbol) const;
  Interval interval(const DimExpr& e) const;
  Residue residue(const DimExpr& e) const;

  /// Known equalities, in terms of the user's symbols only.
  const DimSubstitution& equal() const { return equal_; }
  /// As simple as the facts allow without proofs: equalities, residues, no floormod by non-zero
  /// divisors. Value preserving under the facts; may contain internal symbols.
  DimExpr reduce(const DimExpr& e) const;
  DimExpr reduce_atoms(const DimExpr& e) const;

  /// A simpler form of x // y for an expression y that is provably not zero.
  std::optional<DimExpr> divide_symbolically(const DimExpr& x, const DimExpr& y) const;
  /// reduced % c, if the facts determine it.
  std::optional<int64_t> remainder(const DimExpr& reduced, int64_t c) const;
  bool divisible(const DimExpr& reduced, int64_t d) const;
  bool nonzero(const DimExpr& reduced) const;

  const std::vector<DimExpr>& nonnegative() const { return nonnegative_; }
  const std::vector<DimExpr>& zero() const { return zero_; }
  const std::vector<std::pair<DimExpr, int64_t>>& divisible_facts() const { return divisible_; }
  bool contradictory() const { return contradictory_; }

  /// e >= 0 and e == 0 of reduced expressions, and simplified forms; filled by who finds out.
  const AnswerCache<bool>& known_nonnegative() const { return known_nonnegative_; }
  const AnswerCache<bool>& known_zero() const { return known_zero_; }
  const AnswerCache<DimExpr>& known_simple() const { return known_simple_; }

  /// A copy in which `symbol` is step*(fresh symbol) + offset; `out` receives that expression.
  Closure with_residue(const std::string& symbol, int64_t step, int64_t offset, DimExpr* out) const;
  /// A copy that also knows e >= 0 (of reduced expressions).
  Closure with_nonnegative(const DimExpr& e) const;
  /// A copy with one atom replaced everywhere.
  Closure with_replaced(const DimAtom& from, const DimExpr& to) const;

 private:
  void restrict(const std::string& symbol, const Interval& to);
  void add_equality(const DimExpr& difference);
  void add_nonnegative(const DimExpr& e);
  void add_divisible(const DimExpr& e, int64_t d);
  void replace_symbol(const std::string& symbol, const DimExpr& by, bool internal);
  void tighten();
  Interval atom_interval(const DimAtom& atom) const;
  Residue atom_residue(const DimAtom& atom) const;
  bool divisible_by_facts(const DimExpr& e, int64_t d, int depth, int& budget) const;
  /// Rewrites that one question may try: the search would grow with (facts x terms)^depth.
  static constexpr int kDivisibilityBudget = 24;
  bool divisible_everywhere(const DimExpr& e, int64_t d) const;

  DimSubstitution equal_;     ///< idempotent; user symbols
  DimSubstitution internal_;  ///< symbols known modulo d, in internal symbols
  std::map<std::string, Interval> ranges_;
  std::vector<DimExpr> nonnegative_;
  std::vector<DimExpr> zero_;
  std::vector<std::pair<DimExpr, int64_t>> divisible_;
  bool contradictory_ = false;
  AnswerCache<bool> known_nonnegative_, known_zero_;
  AnswerCache<DimExpr> known_simple_;
  AnswerCache<Interval> known_interval_;  ///< of large expressions; empty after a range changed
};

/// If `difference` == 0 can be solved for a symbol with coefficient 1 or -1: symbol and value.
struct SolvedSymbol {
  std::string symbol;
  DimExpr value;
};
std::optional<SolvedSymbol> orient(const DimExpr& difference, const std::string& preferred);

/// difference = coefficient * symbol + rest, the symbol in neither (power 1 only).
struct LinearIn {
  DimExpr coefficient;
  DimExpr rest;
};
std::optional<LinearIn> linear_in(const DimExpr& e, const std::string& symbol);

/// e >= 0 with the common factor of the terms divided out and the constant rounded down.
DimExpr tightened(const DimExpr& e);

/// a / b as polynomials over atoms, if exact.
std::optional<DimExpr> divide_exactly(const DimExpr& a, const DimExpr& b);

/// The part of `e` without its constant is `sign`*symbol*scale: scale*symbol + constant.
struct Affine {
  std::string symbol;
  int64_t scale;
  int64_t constant;
};
std::optional<Affine> as_affine(const DimExpr& e);

}  // namespace symtile
