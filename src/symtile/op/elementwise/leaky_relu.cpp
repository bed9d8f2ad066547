// x, times alpha below 0: ONNX LeakyRelu-16.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 0.01);
  evaluate_unary(c, [=](double x) { return x < 0 ? alpha * x : x; });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 0.01);
  lower_unary(c, [=](Expr x) { return select(x < imm_like(x, 0), imm_like(x, alpha) * x, x); });
}
}  // namespace

extern const OpRecord leaky_relu_op;
const OpRecord leaky_relu_op = {
    .name = "leaky_relu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
