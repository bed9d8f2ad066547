// Kernels of several launches in order: what no other GPU schedule takes.
//
// Stages that share no row axes run one behind the other, each over the whole device, with their
// intermediate results in a workspace in global memory. A scan of long lines gets a block a line
// (scan.h). Other statements that are no stages (scatter, a recurrent step) keep their loops: a
// `parallel` loop gets a work-item an iteration, and anything else runs in a single work-item, in
// order. That is slow and always right.
#pragma once

#include "symtile/schedule/gpu/launch.h"
#include "symtile/transform/tile/access.h"

namespace symtile::gpu {

struct StageLaunch {
  const char* schedule;  ///< "columns", "grid" or "rows"
  Stmt launch;
};
/// One launch for one stage: by groups when its reduction is long, else one work-item an element.
StageLaunch stage_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                         NameSource& names);

TileFunction schedule_launches(const TileFunction& f, const GpuTarget& target);

/// True when the body has a grid_block loop: it is a GPU kernel already.
bool is_gpu_kernel(const TileFunction& f);

}  // namespace symtile::gpu
