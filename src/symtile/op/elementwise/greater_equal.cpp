// x >= y with numpy broadcasting: ONNX GreaterOrEqual-16. False with NaN.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord greater_equal_op;
const OpRecord greater_equal_op = {
    .name = "greater_equal",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_compare,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::ge); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::ge); },
    .samples = [] { return binary_samples_of({DType::f32, DType::i32, DType::u8}, 0, 5); },
};

}  // namespace symtile
