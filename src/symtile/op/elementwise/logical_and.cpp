// Both, with numpy broadcasting: ONNX And-7.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord logical_and_op;
const OpRecord logical_and_op = {
    .name = "logical_and",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_logical,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::logical_and); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::logical_and); },
    .samples = [] { return binary_samples_of({DType::boolean}, 0, 1); },
};

}  // namespace symtile
