// x & y with numpy broadcasting: ONNX BitwiseAnd-18.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord bit_and_op;
const OpRecord bit_and_op = {
    .name = "bit_and",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_bitwise,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::bit_and); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::bit_and); },
    .samples = [] { return binary_samples_of({DType::i32, DType::u8, DType::i64}, 0, 100); },
};

}  // namespace symtile
