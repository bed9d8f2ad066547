// x * tanh(log(1 + exp(x))): ONNX Mish-22.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
/// log(1 + exp(x)) that neither overflows nor loses small values.
double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

void evaluate(EvalContext& c) {
  evaluate_unary(c, [](double x) { return x * std::tanh(softplus(x)); });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) {
    const Expr softplus = max(x, imm_like(x, 0)) +
                          unary(UnaryOp::log1p, unary(UnaryOp::exp, -unary(UnaryOp::abs, x)));
    return x * unary(UnaryOp::tanh, softplus);
  });
}
}  // namespace

extern const OpRecord mish_op;
const OpRecord mish_op = {
    .name = "mish",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
