// The smaller of two with numpy broadcasting: ONNX Min-13. NaN if either is NaN.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord min_op;
const OpRecord min_op = {
    .name = "min",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::min); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::min); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
