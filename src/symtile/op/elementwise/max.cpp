// The larger of two with numpy broadcasting: ONNX Max-13. NaN if either is NaN.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord max_op;
const OpRecord max_op = {
    .name = "max",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::max); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::max); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
