// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): ONNX Celu-12.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  evaluate_unary(c, [=](double x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  lower_unary(c, [=](Expr x) {
    const Expr a = imm_like(x, alpha);
    return select(x > imm_like(x, 0), x, a * unary(UnaryOp::expm1, x / a));
  });
}
}  // namespace

extern const OpRecord celu_op;
const OpRecord celu_op = {
    .name = "celu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5, {{"alpha", 2.0}}); },
};

}  // namespace symtile
