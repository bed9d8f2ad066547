// random_uniform(; shape, dtype, seed, low, high): numbers in [low, high), spread evenly.
#include "symtile/op/shape/random.h"

namespace symtile {
namespace {

void evaluate(EvalContext& c) {
  const double low = c.attrs().get_float("low"), high = c.attrs().get_float("high");
  const int64_t seed = c.attrs().get_int("seed");
  evaluate_random(c, [&](int64_t i) { return low + (high - low) * random_uniform_at(seed, 0, i); });
}

void lower(LowerContext& c) {
  const double low = c.attrs().get_float("low"), high = c.attrs().get_float("high");
  const int64_t seed = c.attrs().get_int("seed");
  lower_random(c, [&](const Expr& i) {
    return imm(DType::f32, low) + imm(DType::f32, high - low) * random_uniform_at(seed, 0, i);
  });
}

}  // namespace

extern const OpRecord random_uniform_op;
const OpRecord random_uniform_op = {
    .name = "random_uniform",
    .min_args = 0,
    .max_args = 0,
    .attrs = random_attrs("low", "high"),
    .deduce = deduce_random,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return random_samples("low", "high"); },
};

}  // namespace symtile
