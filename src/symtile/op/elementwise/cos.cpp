// Cosine: ONNX Cos-22. NaN at the infinities.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord cos_op;
const OpRecord cos_op = {
    .name = "cos",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::cos); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::cos); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -10, 10); },
};

}  // namespace symtile
