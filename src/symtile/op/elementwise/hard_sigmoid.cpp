// max(0, min(1, alpha * x + beta)): ONNX HardSigmoid-22. NaN is kept.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 0.2);
  const double beta = c.attrs().get_float("beta", 0.5);
  evaluate_unary(c, [=](double x) {
    return std::isnan(x) ? x : std::fmax(0, std::fmin(1, alpha * x + beta));
  });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 0.2);
  const double beta = c.attrs().get_float("beta", 0.5);
  lower_unary(c, [=](Expr x) {
    const Expr line = imm_like(x, alpha) * x + imm_like(x, beta);
    return max(imm_like(x, 0), min(imm_like(x, 1), line));
  });
}
}  // namespace

extern const OpRecord hard_sigmoid_op;
const OpRecord hard_sigmoid_op = {
    .name = "hard_sigmoid",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}, {"beta", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
