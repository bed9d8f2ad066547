// Logarithm of the softmax along one axis: ONNX LogSoftmax-13.
#include <cmath>

#include "symtile/op/nn/axis_index.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_along_axis(c, [](std::vector<double> line) {
    double largest = line[0], sum = 0;
    for (double v : line) largest = v > largest || std::isnan(v) ? v : largest;
    for (double v : line) sum += std::exp(v - largest);
    for (double& v : line) v = v - largest - std::log(sum);
    return line;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const size_t axis = axis_position(c.attrs(), x.rank(), -1);
  const SoftmaxStats stats = softmax_stats(c, axis);
  c.compute(0, [&](const Index& i) {
    const Index line = without_axis(i, axis);
    return widen(x(i)) - stats.largest(line) - unary(UnaryOp::log, stats.sum(line));
  });
}

}  // namespace

extern const OpRecord log_softmax_op;
const OpRecord log_softmax_op = {
    .name = "log_softmax",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer}},
    .deduce = deduce_along_axis,
    .evaluate = evaluate,
    .lower = lower,
    .samples = along_axis_samples,
};

}  // namespace symtile
