// Inverse hyperbolic tangent: ONNX Atanh-22. Infinite at -1 and 1, NaN outside.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord atanh_op;
const OpRecord atanh_op = {
    .name = "atanh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::atanh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::atanh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -0.9, 0.9); },
};

}  // namespace symtile
