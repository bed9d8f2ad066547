// Arc sine: ONNX Asin-22. NaN outside [-1, 1].
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord asin_op;
const OpRecord asin_op = {
    .name = "asin",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::asin); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::asin); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -1, 1); },
};

}  // namespace symtile
