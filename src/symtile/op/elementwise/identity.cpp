// The argument itself: ONNX Identity.
#include "symtile/op/elementwise.h"

namespace symtile {

extern const OpRecord identity_op;
const OpRecord identity_op = {
    .name = "identity",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce_same_as_first,
    .evaluate = [](EvalContext& c) { c.outputs.push_back(c.in(0)); },
    .lower =
        [](LowerContext& c) {
          const TensorRef x = c.in(0);
          c.compute(0, [&](const Index& i) { return x(i); });
        },
    .samples = [] { return unary_samples_of({DType::f32, DType::i64, DType::boolean}, 0, 1); },
    .is_view = true,
};

}  // namespace symtile
