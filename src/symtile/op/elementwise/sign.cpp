// -1, 0 or 1: ONNX Sign-13. NaN stays NaN.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord sign_op;
const OpRecord sign_op = {
    .name = "sign",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_number_unary,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::sign); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::sign); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16, DType::i32, DType::i8}); },
};

}  // namespace symtile
