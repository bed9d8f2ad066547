// Remainder with numpy broadcasting: ONNX Mod-13. With the sign of the divisor (numpy mod), or with
// `fmod` that of the dividend (C fmod). Integers: x mod 0 is 0.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
BinaryOp op_of(const Attributes& attrs) {
  return attrs.get_bool("fmod", false) ? BinaryOp::fmod : BinaryOp::floormod;
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out =
      binary_samples_of({DType::f32, DType::i32, DType::u8}, -20, 20, {{"fmod", int64_t{1}}});
  for (OpSample& s : binary_samples_of({DType::i32, DType::i8}, -20, 20))
    out.push_back(std::move(s));
  return out;
}
}  // namespace

extern const OpRecord mod_op;
const OpRecord mod_op = {
    .name = "mod",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"fmod", AttrSpec::Kind::integer}},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, op_of(c.attrs())); },
    .lower = [](LowerContext& c) { lower_binary_op(c, op_of(c.attrs())); },
    .samples = [] { return samples(); },
};

}  // namespace symtile
