// x >> y with numpy broadcasting: ONNX BitShift-11 RIGHT. Arithmetic for signed integers.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord shift_right_op;
const OpRecord shift_right_op = {
    .name = "shift_right",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_bitwise,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::shr); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::shr); },
    .samples =
        [] { return binary_samples_of({DType::u32, DType::u8, DType::u64, DType::i32}, 0, 40); },
};

}  // namespace symtile
