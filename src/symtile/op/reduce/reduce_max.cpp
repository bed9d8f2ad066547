// Largest element over axes: ONNX ReduceMax-20. NaN wins; of nothing it is the lowest value of the
// dtype
// (-inf for floats). On bool it is "any".
#include <limits>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void evaluate(EvalContext& c) {
  const DType dtype = c.in(0).dtype;
  evaluate_reduction(
      c, dtype,
      [&](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        double real = -kInfinity;
        int64_t integer = is_float(dtype) ? 0 : cast_float_to_int(dtype, -kInfinity);
        if (dtype == DType::boolean) integer = 0;
        for (int64_t p : positions) {
          if (x.is_float_kind()) {
            real = eval_binary(BinaryOp::max, real, x.as_double(p));
          } else {
            integer = eval_binary_int(BinaryOp::max, dtype, integer, x.as_int(p));
          }
        }
        if (x.is_float_kind()) {
          out.set(at, real);
        } else {
          out.set_int(at, integer);
        }
      });
}

void lower(LowerContext& c) {
  lower_reduction(c, c.out_dtype() == DType::boolean ? ReduceKind::any : ReduceKind::max);
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out =
      reduction_samples({DType::f32, DType::f16, DType::i32, DType::u8}, 0, 20);
  for (OpSample& s : reduction_samples({DType::boolean}, 0, 1)) out.push_back(std::move(s));
  OpSample specials;
  specials.input_types = {Type::tensor({8}, DType::f32)};
  specials.constants[0] = special_values();
  out.push_back(std::move(specials));
  return out;
}

}  // namespace

extern const OpRecord reduce_max_op;
const OpRecord reduce_max_op = {
    .name = "reduce_max",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = [](DeduceContext& c) -> std::vector<Type> { return {reduced_type(c, c.dtype(0))}; },
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return samples(); },
};

}  // namespace symtile
