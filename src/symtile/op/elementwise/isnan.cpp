// Whether x is not a number: ONNX IsNaN-20.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
std::vector<Type> deduce(DeduceContext& c) {
  std::vector<Type> types = deduce_float_unary(c);
  types[0].dtype = DType::boolean;
  return types;
}
}  // namespace

extern const OpRecord isnan_op;
const OpRecord isnan_op = {
    .name = "isnan",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce,
    .evaluate = [](EvalContext& c) { evaluate_unary_op(c, UnaryOp::isnan); },
    .lower = [](LowerContext& c) { lower_unary_op(c, UnaryOp::isnan); },
    .samples = [] { return unary_samples_of({DType::f32, DType::f16}); },
};

}  // namespace symtile
