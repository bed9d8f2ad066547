// -x: ONNX Neg-13. Integers wrap, unsigned ones too.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord neg_op;
const OpRecord neg_op = {
    .name = "neg",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_number_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::neg); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::neg); },
    .samples =
        [] { return unary_samples_of({DType::f32, DType::f16, DType::i32, DType::i8}, -100, 100); },
};

}  // namespace symtile
