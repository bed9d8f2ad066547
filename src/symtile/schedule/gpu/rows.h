// The rule-based schedule of row kernels: softmax, normalisation, reductions along rows.
//
// The leading axes that all stages share are the rows. A group of work-items takes a row through
// all stages; a block has one group or, when rows are short, several. Reductions that give one
// number a row are shared out over the group and combined by a tree in shared memory; rows have any
// length. What a stage keeps for the next one stays in shared memory when its size is a small
// constant, otherwise in a workspace in global memory.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

/// Stages and the temporaries between them, addressed flat.
struct RowProgram {
  std::vector<Axis> rows;           ///< leading axes of all stages
  std::vector<Stage> stages;        ///< axes: those behind the rows
  std::vector<Buffer> temporaries;  ///< of one row
  Facts facts;
};

struct RowLaunch {
  Stmt launch;
  std::vector<Buffer> workspace;  ///< to be allocated around it, in global memory
};
RowLaunch row_launch(const RowProgram& program, const GpuTarget& target, NameSource& names);

/// True when the stage is one reduction an output element, long or of unknown length, whose
/// innermost axis is contiguous in memory: better shared out than done by one work-item.
bool wants_group(const Stage& stage, const Facts& facts);

}  // namespace symtile::gpu
