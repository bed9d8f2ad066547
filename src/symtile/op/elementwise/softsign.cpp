// x / (1 + |x|): ONNX Softsign-22.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  evaluate_unary(c, [](double x) { return x / (1 + std::fabs(x)); });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) { return x / (imm_like(x, 1) + unary(UnaryOp::abs, x)); });
}
}  // namespace

extern const OpRecord softsign_op;
const OpRecord softsign_op = {
    .name = "softsign",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
