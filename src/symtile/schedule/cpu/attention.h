// Attention without a matrix of scores: a task takes a block of queries through the keys, block by
// block, and keeps the running maximum, sum and weighted sum of each row (online softmax). Queries,
// keys and values are packed, so they may be any views or expressions; both products run in
// register tiles.
#pragma once

#include "symtile/target/cpu_target.h"
#include "symtile/transform/tile/access.h"

namespace symtile {

/// nullopt: `f` is no attention.
std::optional<TileFunction> schedule_attention(const TileFunction& f, const ComputeForm& form,
                                               const CpuTarget& target);

}  // namespace symtile
