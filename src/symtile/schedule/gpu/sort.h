// The template for sorting and top-k on a GPU: a block a line, by a bitonic network.
//
// A line that fits is sorted in shared memory. Of a longer one the best k stay there while the rest
// comes through in parts. Where neither fits, the network runs in global memory. All comparators
// point the same way (the first step of a merge is mirrored), so that elements beyond the end are
// left out and any length needs no padding.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

/// For what match_sorting recognises; else nullopt.
std::optional<TileFunction> schedule_sort(const TileFunction& f, const ComputeForm& form,
                                          const GpuTarget& target);

}  // namespace symtile::gpu
