// full(; shape, dtype, value): every element is the same number (numpy.full).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  return {Type::tensor(c.attrs().get_dims("shape"), c.attrs().get_dtype("dtype"))};
}

void evaluate(EvalContext& c) {
  RefTensor& y = c.out(c.attrs().get_dtype("dtype"), c.dims_attr("shape"));
  const double value = c.attrs().get_float("value", 0);
  for (int64_t i = 0; i < y.size(); ++i) y.set(i, value);
}

void lower(LowerContext& c) {
  const Expr value = imm(c.out_dtype(), c.attrs().get_float("value", 0));
  c.compute(0, [&](const Index&) { return value; });
}

std::vector<OpSample> samples() {
  return {
      {{}, {{"shape", Dims{2, 3}}, {"dtype", DType::f32}, {"value", 1.5}}},
      {{}, {{"shape", Dims{}}, {"dtype", DType::i64}, {"value", -7.0}}},
      {{}, {{"shape", Dims{0, 3}}, {"dtype", DType::boolean}, {"value", 1.0}}},
      {{}, {{"shape", Dims{5}}, {"dtype", DType::f16}}},
  };
}

}  // namespace

extern const OpRecord full_op;
const OpRecord full_op = {
    .name = "full",
    .min_args = 0,
    .max_args = 0,
    .attrs = {{"dtype", AttrSpec::Kind::dtype, true},
              {"shape", AttrSpec::Kind::dims, true},
              {"value", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
