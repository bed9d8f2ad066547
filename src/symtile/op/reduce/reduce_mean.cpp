// Mean over axes: ONNX ReduceMean-18. Integers truncate towards 0 and do not wrap before the
// division; of nothing it is NaN, or 0 for integers.
#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

void evaluate(EvalContext& c) {
  evaluate_reduction(
      c, c.in(0).dtype,
      [](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        const auto count = static_cast<int64_t>(positions.size());
        if (x.is_float_kind()) {
          double sum = 0;
          for (int64_t p : positions) sum += x.as_double(p);
          out.set(at, sum / static_cast<double>(count));
          return;
        }
        const DType wide = is_unsigned_int(x.dtype) ? DType::u64 : DType::i64;
        int64_t sum = 0;
        for (int64_t p : positions) sum = eval_binary_int(BinaryOp::add, wide, sum, x.as_int(p));
        out.set_int(at, eval_binary_int(BinaryOp::div, wide, sum, count));
      });
}

void lower(LowerContext& c) {
  const Expr count = to_expr(ReductionAxes(c).count());
  lower_reduction(
      c, ReduceKind::sum,
      [](Expr e) {
        if (is_float(e.dtype())) return e;
        return cast(is_unsigned_int(e.dtype()) ? DType::u64 : DType::i64, e);
      },
      [&](Expr sum) { return sum / cast(sum.dtype(), count); });
}

}  // namespace

extern const OpRecord reduce_mean_op;
const OpRecord reduce_mean_op = {
    .name = "reduce_mean",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_reduction,
    .evaluate = evaluate,
    .lower = lower,
    .samples =
        [] { return reduction_samples({DType::f32, DType::f16, DType::i32, DType::u8}, 0, 20); },
};

}  // namespace symtile
