// x > y with numpy broadcasting: ONNX Greater-13. False with NaN.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord greater_op;
const OpRecord greater_op = {
    .name = "greater",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_compare,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::gt); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::gt); },
    .samples = [] { return binary_samples_of({DType::f32, DType::i32, DType::u8}, 0, 5); },
};

}  // namespace symtile
