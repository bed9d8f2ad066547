// Runs two modules in the interpreter on the same random inputs.
#pragma once

#include "symtile/ir/module.h"

namespace symtile::test {

/// Throws UserError where the results differ by more than rounding. Returns at how many shapes
/// `before` could be run: not at all when its inputs are no tensors of known rank, when it has
/// none, or its facts exclude the shapes tried.
int check_same_meaning(const Module& before, const Module& after);

}  // namespace symtile::test
