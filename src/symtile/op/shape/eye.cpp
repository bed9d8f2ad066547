// eye(; shape, dtype, k): ones on the k-th diagonal of a matrix, zeros elsewhere (ONNX EyeLike).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& shape = c.attrs().get_dims("shape");
  if (shape.size() != 2)
    c.fail(DiagId::bad_attribute, "shape must have 2 entries, not {}", shape.size());
  return {Type::tensor(shape, c.attrs().get_dtype("dtype"))};
}

void evaluate(EvalContext& c) {
  RefTensor& y = c.out(c.attrs().get_dtype("dtype"), c.dims_attr("shape"));
  const int64_t k = c.attrs().get_int("k", 0);
  int64_t at = 0;
  for_each_index(y.dims, [&](const auto& index) { y.set(at++, index[1] - index[0] == k ? 1 : 0); });
}

void lower(LowerContext& c) {
  const Expr k(c.attrs().get_int("k", 0));
  c.compute(0, [&](const Index& out) {
    return select(equal(out[1], out[0] + k), imm(c.out_dtype(), 1), imm(c.out_dtype(), 0));
  });
}

std::vector<OpSample> samples() {
  return {
      {{}, {{"shape", Dims{4, 3}}, {"dtype", DType::f32}}},
      {{}, {{"shape", Dims{3, 5}}, {"dtype", DType::i32}, {"k", int64_t{1}}}},
      {{}, {{"shape", Dims{0, 5}}, {"dtype", DType::f64}, {"k", int64_t{-1}}}},
  };
}

}  // namespace

extern const OpRecord eye_op;
const OpRecord eye_op = {
    .name = "eye",
    .min_args = 0,
    .max_args = 0,
    .attrs = {{"dtype", AttrSpec::Kind::dtype, true},
              {"k", AttrSpec::Kind::integer},
              {"shape", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
