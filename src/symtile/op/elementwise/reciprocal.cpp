// 1 / x: ONNX Reciprocal-13. Infinite at the zeros, with their sign.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  evaluate_unary(c, [](double x) { return 1 / x; });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) { return imm_like(x, 1) / x; });
}
}  // namespace

extern const OpRecord reciprocal_op;
const OpRecord reciprocal_op = {
    .name = "reciprocal",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
