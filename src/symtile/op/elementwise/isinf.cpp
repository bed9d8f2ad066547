// Whether x is infinite, of either or one sign: ONNX IsInf-20.
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
std::vector<Type> deduce(DeduceContext& c) {
  std::vector<Type> types = deduce_float_unary(c);
  types[0].dtype = DType::boolean;
  return types;
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const bool negative = c.attrs().get_bool("detect_negative", true);
  const bool positive = c.attrs().get_bool("detect_positive", true);
  RefTensor& out = c.out(DType::boolean, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double v = x.as_double(i);
    out.set_int(i, std::isinf(v) && (v < 0 ? negative : positive));
  }
}

void lower(LowerContext& c) {
  const bool negative = c.attrs().get_bool("detect_negative", true);
  const bool positive = c.attrs().get_bool("detect_positive", true);
  lower_unary(c, [=](Expr x) {
    if (!negative && !positive) return bool_imm(false);
    if (negative && positive) return unary(UnaryOp::isinf, x);
    return equal(x, imm_like(x, positive ? HUGE_VAL : -HUGE_VAL));
  });
}
}  // namespace

extern const OpRecord isinf_op;
const OpRecord isinf_op = {
    .name = "isinf",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"detect_negative", AttrSpec::Kind::integer},
              {"detect_positive", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples =
        [] {
          return unary_samples_of({DType::f32, DType::f16}, -2, 2,
                                  {{"detect_negative", int64_t{0}}});
        },
};

}  // namespace symtile
