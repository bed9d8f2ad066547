// x * y with numpy broadcasting: ONNX Mul-14. Integers wrap.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord mul_op;
const OpRecord mul_op = {
    .name = "mul",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::mul); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::mul); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
