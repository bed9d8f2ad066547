// x, times slope below 0, with numpy broadcasting of slope: ONNX PRelu-16.
#include "symtile/ir/scalar_eval.h"
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& slope = c.in(1);
  RefTensor& out = c.out(x.dtype, broadcast_extents(x.dims, slope.dims));
  int64_t at = 0;
  for_each_index(out.dims, [&](const std::vector<int64_t>& index) {
    const auto i = static_cast<size_t>(broadcast_offset(x.dims, index));
    const auto j = static_cast<size_t>(broadcast_offset(slope.dims, index));
    if (x.is_float_kind()) {
      out.set(at++, x.f[i] < 0 ? slope.f[j] * x.f[i] : x.f[i]);
    } else {
      const bool below = eval_compare_int(BinaryOp::lt, x.dtype, x.i[i], 0);
      out.set_int(at++,
                  below ? eval_binary_int(BinaryOp::mul, x.dtype, slope.i[j], x.i[i]) : x.i[i]);
    }
  });
}
}  // namespace

extern const OpRecord prelu_op;
const OpRecord prelu_op = {
    .name = "prelu",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = evaluate,
    .lower =
        [](LowerContext& c) {
          lower_binary(c,
                       [](Expr x, Expr slope) { return select(x < imm_like(x, 0), slope * x, x); });
        },
    .samples = [] { return binary_samples_of({DType::f32, DType::f16, DType::i32}); },
};

}  // namespace symtile
