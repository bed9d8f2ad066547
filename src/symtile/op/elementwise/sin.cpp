// Sine: ONNX Sin-22. NaN at the infinities.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sin_op;
const OpRecord sin_op = {
    .name = "sin",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::sin); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::sin); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -10, 10); },
};

}  // namespace symtile
