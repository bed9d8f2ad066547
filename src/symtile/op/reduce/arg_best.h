// What argmax and argmin share (ONNX ArgMax-13, ArgMin-13): the position of the best element along
// one axis. A NaN is best; of equals the first, or the last with `select_last_index`.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

enum class Best { largest, smallest };

std::vector<AttrSpec> arg_best_attrs();
std::vector<Type> deduce_arg_best(DeduceContext& c);
void evaluate_arg_best(EvalContext& c, Best which);
void lower_arg_best(LowerContext& c, Best which);
std::vector<OpSample> arg_best_samples();

}  // namespace symtile
