#include "symtile/op/reduce/extreme.h"

#include <limits>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<Type> deduce_extreme(DeduceContext& c) { return {reduced_type(c, c.dtype(0))}; }

void evaluate_extreme(EvalContext& c, Extreme which) {
  const bool largest = which == Extreme::largest;
  const BinaryOp op = largest ? BinaryOp::max : BinaryOp::min;
  const double of_none = largest ? -kInfinity : kInfinity;
  const DType dtype = c.in(0).dtype;
  evaluate_reduction(
      c, dtype,
      [&](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        double real = of_none;
        int64_t integer = is_float(dtype) ? 0 : cast_float_to_int(dtype, of_none);
        if (dtype == DType::boolean) integer = largest ? 0 : 1;
        for (int64_t p : positions) {
          if (x.is_float_kind()) {
            real = eval_binary(op, real, x.as_double(p));
          } else {
            integer = eval_binary_int(op, dtype, integer, x.as_int(p));
          }
        }
        if (x.is_float_kind()) {
          out.set(at, real);
        } else {
          out.set_int(at, integer);
        }
      });
}

void lower_extreme(LowerContext& c, Extreme which) {
  const bool largest = which == Extreme::largest;
  const ReduceKind of_bools = largest ? ReduceKind::any : ReduceKind::all;
  const ReduceKind of_numbers = largest ? ReduceKind::max : ReduceKind::min;
  lower_reduction(c, c.out_dtype() == DType::boolean ? of_bools : of_numbers);
}

std::vector<OpSample> extreme_samples() {
  std::vector<OpSample> out =
      reduction_samples({DType::f32, DType::f16, DType::i32, DType::u8}, 0, 20);
  for (OpSample& s : reduction_samples({DType::boolean}, 0, 1)) out.push_back(std::move(s));
  OpSample specials;
  specials.input_types = {Type::tensor({8}, DType::f32)};
  specials.constants[0] = special_values();
  out.push_back(std::move(specials));
  return out;
}

}  // namespace symtile
