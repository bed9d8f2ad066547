// Rounds to the nearest integer, half to even: ONNX Round-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord round_op;
const OpRecord round_op = {
    .name = "round",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::round); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::round); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
