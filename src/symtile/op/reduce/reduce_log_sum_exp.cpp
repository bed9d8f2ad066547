// Logarithm of the sum of exponentials over axes: ONNX ReduceLogSumExp-18, shifted by the largest
// element so that nothing overflows. Integers are computed in f64 and truncated.
#include <algorithm>
#include <cmath>

#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_real_reduction(c, [](const std::vector<double>& values) {
    double largest = -HUGE_VAL;
    for (double v : values) largest = std::max(largest, v);
    const double shift = std::isfinite(largest) ? largest : 0;
    double sum = 0;
    for (double v : values) sum += std::exp(v - shift);
    return shift + std::log(sum);
  });
}

void lower(LowerContext& c) {
  const ReductionAxes axes(c);
  const DType in = compute_dtype(c.in(0).dtype());
  const DType dtype = is_float(in) ? in : DType::f64;
  const TensorRef shift = c.temporary("shift", dtype, c.out_dims(), [&](const Index& i) {
    const Expr largest = axes.reduce_at(c, ReduceKind::max, i, as_real);
    // An infinite shift would make inf - inf.
    const Expr magnitude = unary(UnaryOp::abs, largest);
    return select(magnitude < imm(dtype, HUGE_VAL), largest, imm(dtype, 0));
  });
  c.compute(0, [&](const Index& i) {
    const Expr sum = axes.reduce_at(
        c, ReduceKind::sum, i, [&](Expr e) { return unary(UnaryOp::exp, as_real(e) - shift(i)); });
    return shift(i) + unary(UnaryOp::log, sum);
  });
}

}  // namespace

extern const OpRecord reduce_log_sum_exp_op;
const OpRecord reduce_log_sum_exp_op = {
    .name = "reduce_log_sum_exp",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return reduction_samples({DType::f32, DType::f16, DType::i32}, -20, 90); },
};

}  // namespace symtile
