// x / y with numpy broadcasting: ONNX Div-14. Integers truncate towards 0, and x / 0 is 0.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord div_op;
const OpRecord div_op = {
    .name = "div",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::div); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::div); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
