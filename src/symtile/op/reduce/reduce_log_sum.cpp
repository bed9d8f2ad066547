// Logarithm of the sum over axes: ONNX ReduceLogSum-18. Integers are computed in f64 and truncated.
#include <cmath>

#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_real_reduction(c, [](const std::vector<double>& values) {
    double sum = 0;
    for (double v : values) sum += v;
    return std::log(sum);
  });
}

void lower(LowerContext& c) {
  lower_reduction(
      c, ReduceKind::sum, [](Expr e) { return as_real(e); },
      [](Expr e) { return unary(UnaryOp::log, e); });
}

}  // namespace

extern const OpRecord reduce_log_sum_op;
const OpRecord reduce_log_sum_op = {
    .name = "reduce_log_sum",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return reduction_samples({DType::f32, DType::f16, DType::i32}, 1, 5); },
};

}  // namespace symtile
