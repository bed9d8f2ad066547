// x == y with numpy broadcasting: ONNX Equal-19. NaN equals nothing.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord equal_op;
const OpRecord equal_op = {
    .name = "equal",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_compare,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::eq); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::eq); },
    .samples = [] { return binary_samples_of({DType::f32, DType::i32, DType::boolean}, 0, 3); },
};

}  // namespace symtile
