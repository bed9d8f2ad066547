// max(0, x): ONNX Relu-14. NaN is kept; integers too.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  evaluate_unary(
      c, [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; },
      [](int64_t x) -> int64_t { return x > 0 ? x : 0; });
}

void lower(LowerContext& c) {
  lower_unary(c, [](Expr x) { return max(x, imm_like(x, 0)); });
}
}  // namespace

extern const OpRecord relu_op;
const OpRecord relu_op = {
    .name = "relu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_number_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples =
        [] { return unary_samples_of({DType::f32, DType::f16, DType::i32, DType::i8}, -5, 5); },
};

}  // namespace symtile
