// Sum of magnitudes over axes: ONNX ReduceL1-18. Integers wrap.
#include <cmath>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  const DType dtype = c.in(0).dtype;
  evaluate_reduction(
      c, dtype,
      [&](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        double real = 0;
        int64_t integer = 0;
        for (int64_t p : positions) {
          if (x.is_float_kind()) {
            const double v = x.as_double(p);
            real += std::fabs(v);
          } else {
            const int64_t v = x.as_int(p);
            integer = eval_binary_int(BinaryOp::add, dtype, integer,
                                      eval_unary_int(UnaryOp::abs, dtype, v));
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
  lower_reduction(c, ReduceKind::sum, [](Expr e) { return unary(UnaryOp::abs, e); });
}

}  // namespace

extern const OpRecord reduce_l1_op;
const OpRecord reduce_l1_op = {
    .name = "reduce_l1",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return reduction_samples({DType::f32, DType::f16, DType::i32}, -5, 5); },
};

}  // namespace symtile
