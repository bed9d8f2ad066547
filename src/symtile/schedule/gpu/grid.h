// The rule-based schedule of one stage: one work-item an output element.
//
// Consecutive lanes take consecutive elements (or short vectors of them, where all memory is read
// and written side by side), so what is contiguous stays contiguous; the last block is guarded.
// Nobody writes a schedule for an elementwise or injective operator, a short reduction, a pooling
// or a depthwise convolution: this one takes them.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

Stmt grid_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                 NameSource& names);

}  // namespace symtile::gpu
