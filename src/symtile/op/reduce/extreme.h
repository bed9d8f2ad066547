// What reduce_max and reduce_min share (ONNX ReduceMax-20, ReduceMin-20). NaN wins; of nothing it
// is the other end of the dtype: -inf is the largest of no floats. On bool they are "any" and
// "all".
#pragma once

#include "symtile/op/op.h"

namespace symtile {

enum class Extreme { largest, smallest };

std::vector<Type> deduce_extreme(DeduceContext& c);
void evaluate_extreme(EvalContext& c, Extreme which);
void lower_extreme(LowerContext& c, Extreme which);
std::vector<OpSample> extreme_samples();

}  // namespace symtile
