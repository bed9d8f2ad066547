// Template for reductions over a sliding window that involve no matrix: pooling, depthwise and
// small grouped convolutions.
//
//   out[batch, o] = epilogue(reduce over (channels, taps) of x[batch, channel, o + tap] [* w])
// The elements under all windows of a block are copied once, borders included, so that every tap
// is an unguarded vector load.
#pragma once

#include "symtile/schedule/cpu/loops.h"

namespace symtile {

/// nullopt: `f` reduces over no window.
std::optional<TileFunction> schedule_window_reduction(const TileFunction& f,
                                                      const ComputeForm& form,
                                                      const CpuTarget& target);

}  // namespace symtile
