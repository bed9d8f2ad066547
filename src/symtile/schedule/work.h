// How much a kernel computes: a formula, for the decision how many threads a launch deserves.
#pragma once

#include "symtile/ir/module.h"

namespace symtile {

/// Scalar operations of one launch, roughly: every stage's points times the size of its value,
/// reductions multiplied out. 0 when the body is in scheduled form.
DimExpr estimated_work(const TileFunction& f);

}  // namespace symtile
