// Attention without a matrix of scores, on a GPU: a block takes a tile of queries through the keys,
// tile by tile, and keeps the running maximum, sum and weighted sum of each row (online softmax).
//
// A group of work-items has a row: they share its scores, and its output columns. Queries, keys and
// values are read through whatever expressions fusion left there, into shared memory.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

/// For what match_attention recognises, if the sizes of a query and of a value are constants whose
/// tiles fit into shared memory; else nullopt.
std::optional<TileFunction> schedule_attention(const TileFunction& f, const ComputeForm& form,
                                               const GpuTarget& target);

}  // namespace symtile::gpu
