// Negation of a truth value: ONNX Not-1.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord logical_not_op;
const OpRecord logical_not_op = {
    .name = "logical_not",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = [](DeduceContext& c) -> std::vector<Type> {
      c.require_dtype(0, is_bool, "type bool");
      return {c.arg(0)};
    },
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::logical_not); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::logical_not); },
    .samples = [] { return unary_samples(DType::boolean, 0, 1); },
};

}  // namespace symtile
