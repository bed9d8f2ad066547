// Hyperbolic cosine: ONNX Cosh-22.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord cosh_op;
const OpRecord cosh_op = {
    .name = "cosh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::cosh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::cosh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -4, 4); },
};

}  // namespace symtile
