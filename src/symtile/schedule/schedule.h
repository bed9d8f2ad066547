// Compute form in, scheduled form out: one kernel with one outermost parallel loop.
//
// A template claims the functions it is made for; what no template claims gets a rule-based
// schedule (elementwise or rows). No schedule depends on the values of the extents: every one is
// right for 0, 1 and primes, static or symbolic. Tile sizes come from the machine only.
#pragma once

#include "symtile/ir/module.h"
#include "symtile/target/cpu_target.h"
#include "symtile/target/gpu_target.h"

namespace symtile {

/// Returns `f` unchanged when it is in scheduled form already.
TileFunction schedule_for_cpu(const TileFunction& f, const CpuTarget& target);

/// A kernel of one or several launches of blocks of work-items (docs/ir.md, "GPU kernels").
/// Returns `f` unchanged when it has them already.
TileFunction schedule_for_gpu(const TileFunction& f, const GpuTarget& target);

/// Name of the schedule that `schedule_for_cpu` would choose: "contraction", "rows", ...
std::string schedule_name(const TileFunction& f, const CpuTarget& target);

}  // namespace symtile
