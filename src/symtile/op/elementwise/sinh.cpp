// Hyperbolic sine: ONNX Sinh-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sinh_op;
const OpRecord sinh_op = {
    .name = "sinh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::sinh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::sinh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -4, 4); },
};

}  // namespace symtile
