// Complement of every bit: ONNX BitwiseNot-18.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord bit_not_op;
const OpRecord bit_not_op = {
    .name = "bit_not",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = [](DeduceContext& c) -> std::vector<Type> {
      c.require_dtype(0, is_int, "an integer type");
      return {c.arg(0)};
    },
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::bit_not); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::bit_not); },
    .samples = [] { return unary_samples_of({DType::i32, DType::u8, DType::i64}, 0, 100); },
};

}  // namespace symtile
