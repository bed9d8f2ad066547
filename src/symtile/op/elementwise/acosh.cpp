// Inverse hyperbolic cosine: ONNX Acosh-22. NaN below 1.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord acosh_op;
const OpRecord acosh_op = {
    .name = "acosh",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::acosh); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::acosh); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, 1, 5); },
};

}  // namespace symtile
