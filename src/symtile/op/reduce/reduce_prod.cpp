// Product over axes: ONNX ReduceProd-18. Integers wrap; the product of nothing is 1.
#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  const DType dtype = c.in(0).dtype;
  evaluate_reduction(
      c, dtype,
      [&](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        double real = 1;
        int64_t integer = 1;
        for (int64_t p : positions) {
          if (x.is_float_kind()) {
            real = eval_binary(BinaryOp::mul, real, x.as_double(p));
          } else {
            integer = eval_binary_int(BinaryOp::mul, dtype, integer, x.as_int(p));
          }
        }
        if (x.is_float_kind()) {
          out.set(at, real);
        } else {
          out.set_int(at, integer);
        }
      });
}

}  // namespace

extern const OpRecord reduce_prod_op;
const OpRecord reduce_prod_op = {
    .name = "reduce_prod",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = [](LowerContext& c) { lower_reduction(c, ReduceKind::prod); },
    .samples = [] { return reduction_samples({DType::f32, DType::i32}, -2, 2); },
};

}  // namespace symtile
