// Inverse hyperbolic sine: ONNX Asinh-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord asinh_op;
const OpRecord asinh_op = {
    .name = "asinh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::asinh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::asinh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
