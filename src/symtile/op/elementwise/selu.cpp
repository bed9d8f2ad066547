// gamma * (x above 0, else alpha * (exp(x) - 1)): ONNX Selu-22.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.67326319217681884765625);
  const double gamma = c.attrs().get_float("gamma", 1.05070102214813232421875);
  evaluate_unary(c, [=](double x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.67326319217681884765625);
  const double gamma = c.attrs().get_float("gamma", 1.05070102214813232421875);
  lower_unary(c, [=](Expr x) {
    const Expr g = imm_like(x, gamma);
    return select(x <= imm_like(x, 0), imm_like(x, gamma * alpha) * unary(UnaryOp::expm1, x),
                  g * x);
  });
}
}  // namespace

extern const OpRecord selu_op;
const OpRecord selu_op = {
    .name = "selu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}, {"gamma", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
