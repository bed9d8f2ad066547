// Rounds down: ONNX Floor-13.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord floor_op;
const OpRecord floor_op = {
    .name = "floor",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::floor); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::floor); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
