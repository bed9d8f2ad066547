// x above 0, else alpha * (exp(x) - 1): ONNX Elu-22.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  evaluate_unary(c, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  lower_unary(c, [=](Expr x) {
    return select(x < imm_like(x, 0), imm_like(x, alpha) * unary(UnaryOp::expm1, x), x);
  });
}
}  // namespace

extern const OpRecord elu_op;
const OpRecord elu_op = {
    .name = "elu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
