// Error function: ONNX Erf-13.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord erf_op;
const OpRecord erf_op = {
    .name = "erf",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::erf); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::erf); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -4, 4); },
};

}  // namespace symtile
