// Reductions whose neighbouring results lie next to each other in memory: matrix-vector products
// with the matrix in rows, sums over a leading axis.
//
// The lanes of a warp take neighbouring results, so that every load is contiguous; the warps of the
// block share out the reduction and combine what they have by a tree in shared memory.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

bool wants_columns(const Stage& stage, const Facts& facts);
Stmt column_launch(const Stage& stage, const Facts& facts, const GpuTarget& target,
                   NameSource& names);

}  // namespace symtile::gpu
