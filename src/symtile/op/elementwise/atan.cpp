// Arc tangent: ONNX Atan-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord atan_op;
const OpRecord atan_op = {
    .name = "atan",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::atan); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::atan); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
