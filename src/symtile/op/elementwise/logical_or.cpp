// Either, with numpy broadcasting: ONNX Or-7.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord logical_or_op;
const OpRecord logical_or_op = {
    .name = "logical_or",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_logical,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::logical_or); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::logical_or); },
    .samples = [] { return binary_samples_of({DType::boolean}, 0, 1); },
};

}  // namespace symtile
