// x << y with numpy broadcasting: ONNX BitShift-11 LEFT. A shift by the width or more gives 0.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord shift_left_op;
const OpRecord shift_left_op = {
    .name = "shift_left",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_bitwise,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::shl); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::shl); },
    .samples =
        [] { return binary_samples_of({DType::u32, DType::u8, DType::u64, DType::i32}, 0, 40); },
};

}  // namespace symtile
