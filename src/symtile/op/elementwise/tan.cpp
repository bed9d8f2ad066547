// Tangent: ONNX Tan-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord tan_op;
const OpRecord tan_op = {
    .name = "tan",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::tan); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::tan); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -1.3, 1.3); },
};

}  // namespace symtile
