// Gaussian error linear unit: ONNX Gelu-20. `approximate` "none": x/2 (1 + erf(x / sqrt 2));
// "tanh": x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
#include <cmath>

#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

bool use_tanh(const Attributes& attrs) { return attrs.get_text("approximate", "none") == "tanh"; }

std::vector<Type> deduce(DeduceContext& c) {
  const std::string how = c.attrs().get_text("approximate", "none");
  if (how != "none" && how != "tanh") {
    c.fail(DiagId::bad_attribute, "'approximate' must be \"none\" or \"tanh\", not \"{}\"", how);
  }
  return deduce_float_unary(c);
}

void evaluate(EvalContext& c) {
  const bool tanh_form = use_tanh(c.attrs());
  evaluate_unary(c, [=](double x) {
    const double t = tanh_form ? std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x))
                               : std::erf(x * kSqrtHalf);
    return 0.5 * x * (1 + t);
  });
}

void lower(LowerContext& c) {
  const bool tanh_form = use_tanh(c.attrs());
  lower_unary(c, [=](Expr x) {
    const Expr one = imm_like(x, 1);
    const Expr half_x = imm_like(x, 0.5) * x;
    if (!tanh_form) return half_x * (one + unary(UnaryOp::erf, x * imm_like(x, kSqrtHalf)));
    const Expr cubic = imm_like(x, 0.044715 * kSqrtTwoOverPi) * x * x + imm_like(x, kSqrtTwoOverPi);
    return half_x * (one + unary(UnaryOp::tanh, cubic * x));
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out = unary_samples_of({DType::f32, DType::f16}, -5, 5);
  for (OpSample& s : unary_samples(DType::f32, -5, 5, {{"approximate", std::string("tanh")}})) {
    out.push_back(std::move(s));
  }
  return out;
}
}  // namespace

extern const OpRecord gelu_op;
const OpRecord gelu_op = {
    .name = "gelu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"approximate", AttrSpec::Kind::text}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return samples(); },
};

}  // namespace symtile
