// What cumsum and cumprod share: running sums or products along an axis. `exclusive` leaves out the
// element itself, `reverse` runs from the end (ONNX CumSum, CumProd).
#pragma once

#include "symtile/op/index/indexing.h"

namespace symtile {

enum class Running { sum, product };

std::vector<AttrSpec> cumulative_attrs();
std::vector<Type> deduce_cumulative(DeduceContext& c);
void evaluate_cumulative(EvalContext& c, Running kind);
void lower_cumulative(LowerContext& c, Running kind);
std::vector<OpSample> cumulative_samples();

}  // namespace symtile
