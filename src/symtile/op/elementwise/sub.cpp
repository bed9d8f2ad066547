// x - y with numpy broadcasting: ONNX Sub-14. Integers wrap.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sub_op;
const OpRecord sub_op = {
    .name = "sub",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::sub); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::sub); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
