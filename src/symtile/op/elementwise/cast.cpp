// Conversion to the dtype `to`: ONNX Cast-13. Float to integer truncates and saturates (NaN gives
// 0); integer to integer wraps; to bool is x != 0; everything else rounds to nearest even.
#include <algorithm>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& out = c.out(c.attrs().get_dtype("to"), x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto k = static_cast<size_t>(i);
    const ScalarValue from{x.dtype, x.is_float_kind() ? x.f[k] : 0, x.is_float_kind() ? 0 : x.i[k]};
    const ScalarValue to = eval_cast(out.dtype, from);
    if (out.is_float_kind()) {
      out.f[k] = to.real;
    } else {
      out.i[k] = to.integer;
    }
  }
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  const auto add = [&](DType from, DType to, double low, double high) {
    for (OpSample& s : unary_samples(from, low, high, {{"to", to}})) {
      s.tolerance = std::max(s.tolerance, sample_tolerance(to));
      out.push_back(std::move(s));
    }
  };
  add(DType::f32, DType::i32, -5, 5);
  add(DType::f32, DType::u8, -50, 400);
  add(DType::f32, DType::boolean, -1, 1);
  add(DType::f32, DType::f16, -5, 5);
  add(DType::f16, DType::f32, -5, 5);
  add(DType::f32, DType::bf16, -5, 5);
  add(DType::i64, DType::i8, -1000, 1000);
  add(DType::i32, DType::f32, -1000, 1000);
  add(DType::boolean, DType::f32, 0, 1);
  // Out-of-range values saturate in 64 bits too.
  auto wide = make_zeros(DType::f32, {4});
  const double values[] = {5e18, -5e18, 1e15, 7.7};
  for (int64_t i = 0; i < 4; ++i) wide->set(i, values[i]);
  OpSample s;
  s.input_types = {Type::tensor({4}, DType::f32)};
  s.attrs = {{"to", DType::i64}};
  s.constants[0] = wide;
  out.push_back(std::move(s));
  return out;
}
}  // namespace

extern const OpRecord cast_op;
const OpRecord cast_op = {
    .name = "cast",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"to", AttrSpec::Kind::dtype, true}},
    .deduce = [](DeduceContext& c) -> std::vector<Type> {
      Type t = c.arg(0);
      t.dtype = c.attrs().get_dtype("to");
      return {t};
    },
    .evaluate = evaluate,
    .lower =
        [](LowerContext& c) {
          const TensorRef x = c.in(0);
          c.compute(0, [&](const Index& i) { return cast(c.out_dtype(), x(i)); });
        },
    .samples = [] { return samples(); },
};

}  // namespace symtile
