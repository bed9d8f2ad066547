// Lower bounds by linear programming over the products of a polynomial.
//
// Private to shape/. Given polynomials known to be >= 0, finds multipliers m_i >= 0 such that
// e - sum(m_i * c_i) is a constant; that constant is a lower bound of e (Farkas). The multipliers
// are searched in floating point and then recomputed and checked in exact rationals, so a wrong
// search can lose a proof but never invent one.
#pragma once

#include <optional>
#include <vector>

#include "symtile/shape/checked.h"
#include "symtile/shape/dim_expr.h"

namespace symtile {

/// A proved lower bound of `e` over the integers where every constraint is >= 0. When the
/// constraints contradict each other, some bound of at least `enough`.
std::optional<Wide> linear_lower_bound(const DimExpr& e, const std::vector<DimExpr>& constraints,
                                       int64_t enough);

}  // namespace symtile
