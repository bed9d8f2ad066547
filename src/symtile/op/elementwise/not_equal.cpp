// x != y with numpy broadcasting. NaN differs from everything.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord not_equal_op;
const OpRecord not_equal_op = {
    .name = "not_equal",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_compare,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::ne); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::ne); },
    .samples = [] { return binary_samples_of({DType::f32, DType::i32, DType::boolean}, 0, 3); },
};

}  // namespace symtile
