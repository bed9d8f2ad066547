// The `reduction` attribute of the scatter operators: how an update meets what is there.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

/// Diagnostic unless the attribute is none, add, mul, min or max.
void require_reduction(const DeduceContext& c);

/// Puts element `from` of `updates` on element `to` of `y`.
void apply_reduction(const std::string& reduction, RefTensor& y, int64_t to,
                     const RefTensor& updates, int64_t from);

/// The new value; for bool, add and max are `or`, mul and min are `and`.
Expr reduced(const std::string& reduction, Expr current, Expr update);

}  // namespace symtile
