// log(1 + exp(x)): ONNX Softplus-22, in a form that does not overflow.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  evaluate_unary(c, [](double x) {
    return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
  });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) {
    return max(x, imm_like(x, 0)) +
           unary(UnaryOp::log1p, unary(UnaryOp::exp, -unary(UnaryOp::abs, x)));
  });
}
}  // namespace

extern const OpRecord softplus_op;
const OpRecord softplus_op = {
    .name = "softplus",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
