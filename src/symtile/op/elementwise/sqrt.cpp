// Square root: ONNX Sqrt-13. NaN below 0; the root of -0.0 is -0.0.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sqrt_op;
const OpRecord sqrt_op = {
    .name = "sqrt",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::sqrt); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::sqrt); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, 0, 10); },
};

}  // namespace symtile
