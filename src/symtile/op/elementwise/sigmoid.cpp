// 1 / (1 + exp(-x)): ONNX Sigmoid-13.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sigmoid_op;
const OpRecord sigmoid_op = {
    .name = "sigmoid",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::sigmoid); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::sigmoid); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -8, 8); },
};

}  // namespace symtile
