// Hyperbolic tangent: ONNX Tanh-13.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord tanh_op;
const OpRecord tanh_op = {
    .name = "tanh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::tanh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::tanh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
