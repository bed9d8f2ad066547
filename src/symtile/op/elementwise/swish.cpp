// x * sigmoid(alpha * x): ONNX Swish-24, PyTorch SiLU.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  evaluate_unary(c, [=](double x) { return x / (1 + std::exp(-alpha * x)); });
}

void lower(LowerContext& c) {
  const double alpha = c.attrs().get_float("alpha", 1.0);
  lower_unary(c, [=](Expr x) { return x * unary(UnaryOp::sigmoid, imm_like(x, alpha) * x); });
}
}  // namespace

extern const OpRecord swish_op;
const OpRecord swish_op = {
    .name = "swish",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"alpha", AttrSpec::Kind::real}},
    .deduce = deduce_float_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}, -5, 5); },
};

}  // namespace symtile
