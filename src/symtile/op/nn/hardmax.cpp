// 1 at the first largest element along one axis (a NaN is largest), 0 elsewhere: ONNX Hardmax-13.
#include <cmath>

#include "symtile/op/nn/axis_index.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_along_axis(c, [](const std::vector<double>& line) {
    size_t best = 0;
    for (size_t k = 1; k < line.size() && !std::isnan(line[best]); ++k) {
      if (line[k] > line[best] || std::isnan(line[k])) best = k;
    }
    std::vector<double> out(line.size(), 0.0);
    out[best] = 1;
    return out;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const size_t axis = axis_position(c.attrs(), x.rank(), -1);
  const TensorRef best =
      c.temporary("best", DType::i64, without_axis(x.dims(), axis), [&](const Index& line) {
        return reduce_over(ReduceKind::argmax, c.axis("r", x.dims()[axis]), [&](Expr r) {
          Index at = line;
          at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), r);
          return widen(x(at));
        });
      });
  c.compute(0, [&](const Index& i) {
    return select(equal(best(without_axis(i, axis)), i[axis]), imm(c.out_dtype(), 1),
                  imm(c.out_dtype(), 0));
  });
}

}  // namespace

extern const OpRecord hardmax_op;
const OpRecord hardmax_op = {
    .name = "hardmax",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer}},
    .deduce = deduce_along_axis,
    .evaluate = evaluate,
    .lower = lower,
    .samples = along_axis_samples,
};

}  // namespace symtile
