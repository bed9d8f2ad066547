// The rule-based schedule: everything without a heavy contraction.
//
// One stage: its independent axes run in parallel, the contiguous ones merged and vectorised.
// Several stages (softmax, normalisation): the leading axes that all stages share become the
// parallel loop; temporaries shrink to one row of per-thread scratch, so a row passes through all
// stages while it is in cache.
#pragma once

#include "symtile/schedule/cpu/loops.h"

namespace symtile {

TileFunction schedule_rows(const TileFunction& f, const ComputeForm& form, const CpuTarget& target);

}  // namespace symtile
