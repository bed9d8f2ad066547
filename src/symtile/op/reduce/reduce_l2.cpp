// Square root of the sum of squares over axes: ONNX ReduceL2-18. Integers are computed in f64 and
// truncated.
#include <cmath>

#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_real_reduction(c, [](const std::vector<double>& values) {
    double sum = 0;
    for (double v : values) sum += v * v;
    return std::sqrt(sum);
  });
}

void lower(LowerContext& c) {
  lower_reduction(
      c, ReduceKind::sum,
      [](Expr e) {
        const Expr v = as_real(e);
        return v * v;
      },
      [](Expr e) { return unary(UnaryOp::sqrt, e); });
}

}  // namespace

extern const OpRecord reduce_l2_op;
const OpRecord reduce_l2_op = {
    .name = "reduce_l2",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return reduction_samples({DType::f32, DType::f16, DType::i32}, -5, 5); },
};

}  // namespace symtile
