// The order of top_k as an expression: its lowering states it, schedules recognise it.
#pragma once

#include "symtile/ir/expr.h"

namespace symtile {

/// a > b, where a NaN is greater than every number.
Expr sorts_above(const Expr& a, const Expr& b);
/// True when element `a` at position `i` stands before `b` at `j`: it is larger (or smaller), or
/// equal and further in front.
Expr stands_before(bool largest, const Expr& a, const Expr& i, const Expr& b, const Expr& j);

}  // namespace symtile
