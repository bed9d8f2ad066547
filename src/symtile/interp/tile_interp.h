// Runs one tile function, in compute or scheduled form, element by element in double precision.
//
// Every loop kind runs serially in order. Every load and store is checked: an index out of bounds
// is an InternalError with the function, buffer and index, so the interpreter finds wrong
// schedules, not only wrong values. Slow and obvious by design.
#pragma once

#include "symtile/ir/module.h"
#include "symtile/op/ref_tensor.h"

namespace symtile {

/// Inputs in the order of the function's inputs, row-major; a tensor may have other dims than the
/// buffer as long as the element count is the same (flat schedules). `result_dims` gives the dims
/// of the results to return; empty: those of the output buffers.
std::vector<RefTensor> run_tile(const TileFunction& f, const DimValues& symbols,
                                const std::vector<const RefTensor*>& inputs,
                                const std::vector<std::vector<int64_t>>& result_dims = {});

}  // namespace symtile
