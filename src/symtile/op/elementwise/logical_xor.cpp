// Exactly one, with numpy broadcasting: ONNX Xor-7.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord logical_xor_op;
const OpRecord logical_xor_op = {
    .name = "logical_xor",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_logical,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::logical_xor); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::logical_xor); },
    .samples = [] { return binary_samples_of({DType::boolean}, 0, 1); },
};

}  // namespace symtile
