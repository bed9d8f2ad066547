// Natural exponential: ONNX Exp-13.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord exp_op;
const OpRecord exp_op = {
    .name = "exp",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::exp); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::exp); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -8, 8); },
};

}  // namespace symtile
