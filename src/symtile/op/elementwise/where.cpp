// x where the condition holds, else y, with numpy broadcasting of all three: ONNX Where-16.
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_bool, "type bool");
  c.require_same_dtype(1, 2);
  const std::optional<Dims> dims = broadcast_args(c);
  return {dims ? Type::tensor(*dims, c.dtype(1)) : Type::tensor_any_rank(c.dtype(1))};
}

void evaluate(EvalContext& c) {
  const RefTensor& condition = c.in(0);
  RefTensor& out =
      c.out(c.in(1).dtype,
            broadcast_extents(condition.dims, broadcast_extents(c.in(1).dims, c.in(2).dims)));
  int64_t at = 0;
  for_each_index(out.dims, [&](const std::vector<int64_t>& index) {
    const bool first = condition.as_int(broadcast_offset(condition.dims, index)) != 0;
    const RefTensor& from = c.in(first ? 1 : 2);
    out.copy_element(at++, from, broadcast_offset(from.dims, index));
  });
}

void lower(LowerContext& c) {
  c.compute(0, [&](const Index& i) {
    // No arithmetic happens, so f16 is not widened.
    return select(c.load_broadcast(c.in(0), i, c.out_dims()),
                  c.load_broadcast(c.in(1), i, c.out_dims()),
                  c.load_broadcast(c.in(2), i, c.out_dims()));
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (DType t : {DType::f32, DType::i64, DType::boolean}) {
    for (OpSample& s : binary_samples(t, 0, 1)) {
      s.input_types.insert(s.input_types.begin(), s.input_types[0]);
      s.input_types[0].dtype = DType::boolean;
      s.constants.clear();
      out.push_back(std::move(s));
    }
  }
  return out;
}
}  // namespace

extern const OpRecord where_op;
const OpRecord where_op = {
    .name = "where",
    .min_args = 3,
    .max_args = 3,
    .attrs = {},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return samples(); },
};

}  // namespace symtile
