// x above alpha, else 0: ONNX ThresholdedRelu-22.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  evaluate_unary(c, [=](double x) { return x > alpha ? x : 0.0; });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  lower_unary(c, [=](Expr x) { return select(x > imm_like(x, alpha), x, imm_like(x, 0)); });
}
}  // namespace

extern const OpRecord thresholded_relu_op;
const OpRecord thresholded_relu_op = {
    .name = "thresholded_relu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
