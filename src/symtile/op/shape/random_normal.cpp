// random_normal(; shape, dtype, seed, mean, scale): numbers of a normal distribution, by the
// transform of Box and Muller.
#include <cmath>
#include <numbers>

#include "symtile/op/shape/random.h"

namespace symtile {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

void evaluate(EvalContext& c) {
  const double mean = c.attrs().get_float("mean"), scale = c.attrs().get_float("scale");
  const int64_t seed = c.attrs().get_int("seed");
  evaluate_random(c, [&](int64_t i) {
    // Never 0: the logarithm stays finite.
    const double radius = std::sqrt(-2 * std::log(random_uniform_at(seed, 0, i) + 0x1p-24));
    return mean + scale * radius * std::cos(kTurn * random_uniform_at(seed, 1, i));
  });
}

void lower(LowerContext& c) {
  const double mean = c.attrs().get_float("mean"), scale = c.attrs().get_float("scale");
  const int64_t seed = c.attrs().get_int("seed");
  const auto real = [](double v) { return imm(DType::f32, v); };
  lower_random(c, [&](const Expr& i) {
    const Expr first = random_uniform_at(seed, 0, i) + real(0x1p-24);
    const Expr radius = unary(UnaryOp::sqrt, real(-2) * unary(UnaryOp::log, first));
    const Expr angle = real(kTurn) * random_uniform_at(seed, 1, i);
    return real(mean) + real(scale) * radius * unary(UnaryOp::cos, angle);
  });
}

}  // namespace

extern const OpRecord random_normal_op;
const OpRecord random_normal_op = {
    .name = "random_normal",
    .min_args = 0,
    .max_args = 0,
    .attrs = random_attrs("mean", "scale"),
    .deduce = deduce_random,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return random_samples("mean", "scale"); },
};

}  // namespace symtile
