// |x|: ONNX Abs-13. The lowest integer is its own absolute value.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord abs_op;
const OpRecord abs_op = {
    .name = "abs",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_number_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::abs); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::abs); },
    .samples =
        [] { return unary_samples_of({DType::f32, DType::f16, DType::i32, DType::i8}, -100, 100); },
};

}  // namespace symtile
