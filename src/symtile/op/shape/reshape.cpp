// reshape(x; shape): the elements of x in the same order with other dimensions (numpy.reshape).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& shape = c.attrs().get_dims("shape");
  if (c.rank_known(0)) {
    c.require_equal(product(shape), product(c.dims(0)), "the element count of the new shape");
  }
  return {Type::tensor(shape, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& y = c.out(x.dtype, c.dims_attr("shape"));
  if (y.size() != x.size()) {
    fail(DiagId::bad_input, {}, "operator 'reshape': {} elements do not fit a shape of {}",
         x.size(), y.size());
  }
  for (int64_t i = 0; i < x.size(); ++i) y.copy_element(i, x, i);
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  return {
      {{Type::tensor({2, 3, 4}, DType::f32)}, {{"shape", Dims{4, 6}}}},
      {.input_types = {Type::tensor({n, 6}, DType::f32)},
       .attrs = {{"shape", Dims{2 * n, 3}}},
       .symbols = {{"n", 5}}},
      {.input_types = {Type::tensor({n, 4}, DType::i64)},
       .attrs = {{"shape", Dims{2, n, 2}}},
       .symbols = {{"n", 0}}},
      {{Type::tensor({1, 1}, DType::f16)}, {{"shape", Dims{}}}},
  };
}

}  // namespace

extern const OpRecord reshape_op;
const OpRecord reshape_op = {
    .name = "reshape",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"shape", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = nullptr,
    .samples = samples,
    .is_view = true,
};

}  // namespace symtile
