// x + y with numpy broadcasting: ONNX Add-14. Integers wrap.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord add_op;
const OpRecord add_op = {
    .name = "add",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce_arithmetic,
    .evaluate = [](EvalContext& c) { evaluate_binary_op(c, BinaryOp::add); },
    .lower = [](LowerContext& c) { lower_binary_op(c, BinaryOp::add); },
    .samples =
        [] {
          return binary_samples_of({DType::f32, DType::f16, DType::i32, DType::u8, DType::i8}, -100,
                                   100);
        },
};

}  // namespace symtile
