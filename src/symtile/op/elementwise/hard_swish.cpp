// x * max(0, min(1, x / 6 + 1/2)): ONNX HardSwish-22.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  evaluate_unary(
      c, [](double x) { return std::isnan(x) ? x : x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) {
    const Expr line = x * imm_like(x, 1.0 / 6) + imm_like(x, 0.5);
    return x * max(imm_like(x, 0), min(imm_like(x, 1), line));
  });
}
}  // namespace

extern const OpRecord hard_swish_op;
const OpRecord hard_swish_op = {
    .name = "hard_swish",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
