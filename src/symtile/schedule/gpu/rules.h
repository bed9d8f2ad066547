// The rule-based GPU schedules of functions in compute form: a work-item an element, groups of
// work-items along rows, or a launch a stage. Whatever the stages are, one of them is right.
#pragma once

#include "symtile/schedule/gpu/launch.h"
#include "symtile/transform/tile/access.h"

namespace symtile::gpu {

TileFunction schedule_rules(const TileFunction& f, const ComputeForm& form,
                            const GpuTarget& target);

}  // namespace symtile::gpu
