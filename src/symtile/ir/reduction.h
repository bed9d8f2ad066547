// What the reductions of tile functions are made of: one meaning for schedules, printers, code
// generation and the interpreters (docs/ir.md, "Reductions").
#pragma once

#include "symtile/ir/expr.h"

namespace symtile {

/// argmax, argmin and their `_last` forms: they give a position and are not combined stepwise.
bool is_arg_reduction(ReduceKind kind);

/// The operator that joins two partial results. Not for arg reductions.
BinaryOp combining_operator(ReduceKind kind);

/// The result over nothing, of the type's own extremes for max and min. Arg reductions start from
/// the same value as max and min; it is no element of theirs.
Expr identity_of(ReduceKind kind, DType dtype);

}  // namespace symtile
