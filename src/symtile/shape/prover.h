// Proofs of e >= 0 from a closure, by bounded search.
//
// Private to shape/. In order of cost: intervals, counterexamples (to give up early), linear
// programming over known inequalities and their products, and case distinctions (min/max, residue
// of a divided symbol). All work is counted, so no question takes long.
#pragma once

#include <vector>

#include "symtile/shape/closure.h"

namespace symtile {

class Prover {
 public:
  explicit Prover(const Closure& closure) : closure_(closure) {}

  /// e >= 0 for every assignment that satisfies the facts; `e` is reduced.
  bool nonnegative(const DimExpr& e);
  /// e == 0 likewise.
  bool is_zero(const DimExpr& e);
  bool is_nonzero(const DimExpr& e);
  /// A sound lower bound of `e`, at least as good as the interval's.
  std::optional<Wide> lower_bound(const DimExpr& e);

 private:
  bool search(const Closure& closure, const DimExpr& e, int depth);
  bool split_extremum(const Closure& closure, const DimExpr& e, int depth);
  bool split_residue(const Closure& closure, const DimExpr& e, int depth);
  bool refuted(const DimExpr& e, bool want_zero) const;

  const Closure& closure_;
  int budget_ = 40;  ///< linear programs (of small expressions) this question may still solve
};

/// The inequalities worth giving to the linear program for a question about `e`: facts, the
/// defining inequalities of every opaque term, and products of them that meet its terms.
std::vector<DimExpr> relevant_constraints(const Closure& closure, const DimExpr& e);

}  // namespace symtile
