// The template for sorting and top-k on CPUs: lines in parallel, each by merging sorted runs.
//
// Candidates are collected in a buffer of twice the wanted results; when it is full it is sorted,
// the best stay, and from then on only what beats the last of them is collected. A sort of the
// whole line is the case where all of it fits. Merging takes no branch on the data.
#pragma once

#include "symtile/schedule/cpu/loops.h"

namespace symtile {

/// For what match_sorting recognises; else nullopt.
std::optional<TileFunction> schedule_sort(const TileFunction& f, const ComputeForm& form,
                                          const CpuTarget& target);

}  // namespace symtile
