// Softmax along the last axis with one exponential an element: the row of exponentials stays in
// cache between their sum and the quotient. What stands before and behind is evaluated in the first
// and the last pass.
#pragma once

#include "symtile/target/cpu_target.h"
#include "symtile/transform/tile/access.h"

namespace symtile {

/// nullopt: `f` is no softmax.
std::optional<TileFunction> schedule_softmax(const TileFunction& f, const ComputeForm& form,
                                             const CpuTarget& target);

}  // namespace symtile
