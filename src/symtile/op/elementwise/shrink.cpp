// x moved towards 0 by bias outside [-lambd, lambd], 0 inside: ONNX Shrink-9.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const double lambd = c.attrs().get_float("lambd", 0.5);
  const double bias = c.attrs().get_float("bias", 0.0);
  evaluate_unary(
      c, [=](double x) { return x < -lambd ? x + bias : (x > lambd ? x - bias : 0.0); },
      [=](int64_t x) -> int64_t {
        const auto v = static_cast<double>(x);
        return static_cast<int64_t>(v < -lambd ? v + bias : (v > lambd ? v - bias : 0.0));
      });
}

void lower(LowerContext& c) {
  const double lambd = c.attrs().get_float("lambd", 0.5);
  const double bias = c.attrs().get_float("bias", 0.0);
  lower_unary(c, [=](Expr x) {
    // Integers are compared and moved as reals, as numpy does.
    const Expr v = is_float(x.dtype()) ? x : cast(DType::f64, x);
    const Expr inside = select(v > imm_like(v, lambd), v - imm_like(v, bias), imm_like(v, 0));
    return select(v < imm_like(v, -lambd), v + imm_like(v, bias), inside);
  });
}
}  // namespace

extern const OpRecord shrink_op;
const OpRecord shrink_op = {
    .name = "shrink",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"lambd", AttrSpec::Kind::real}, {"bias", AttrSpec::Kind::real}},
    .deduce = deduce_number_unary,
    .evaluate = evaluate,
    .lower = lower,
    .samples =
        [] {
          return unary_samples_of({DType::f32, DType::i32}, -5, 5, {{"lambd", 1.5}, {"bias", 1.5}});
        },
};

}  // namespace symtile
