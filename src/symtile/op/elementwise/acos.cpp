// Arc cosine: ONNX Acos-22. NaN outside [-1, 1].
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord acos_op;
const OpRecord acos_op = {
    .name = "acos",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::acos); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::acos); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -1, 1); },
};

}  // namespace symtile
