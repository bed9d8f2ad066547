// Natural logarithm: ONNX Log-13. -inf at 0, NaN below.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord log_op;
const OpRecord log_op = {
    .name = "log",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::log); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::log); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, 0.01, 10); },
};

}  // namespace symtile
