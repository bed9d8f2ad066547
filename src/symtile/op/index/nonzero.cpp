// nonzero(x): the positions of the elements that are not zero, in row-major order, one column each
// (ONNX NonZero). How many there are depends on the data: the second dimension is unknown.
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const DimExpr rank = c.rank_known(0) ? DimExpr(c.rank(0)) : DimExpr::unknown();
  return {Type::tensor({rank, DimExpr::unknown()}, DType::i64)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  std::vector<std::vector<int64_t>> found;
  int64_t at = 0;
  for_each_index(x.dims, [&](const auto& index) {
    // NaN is not zero.
    const bool zero = x.is_float_kind() ? x.as_double(at) == 0 : x.as_int(at) == 0;
    if (!zero) found.push_back(index);
    ++at;
  });
  const auto count = static_cast<int64_t>(found.size());
  RefTensor& y = c.out(DType::i64, {x.rank(), count});
  for (int64_t d = 0; d < x.rank(); ++d) {
    for (int64_t k = 0; k < count; ++k) {
      y.set_int(d * count + k, found[static_cast<size_t>(k)][static_cast<size_t>(d)]);
    }
  }
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  return {
      {{Type::tensor({3, 4}, DType::boolean)}, {}, 0, 1},
      {.input_types = {Type::tensor({n, 5}, DType::i32)}, .attrs = {}, .symbols = {{"n", 7}}},
      {.input_types = {Type::tensor({2, n}, DType::f32)}, .attrs = {}, .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord nonzero_op;
const OpRecord nonzero_op = {
    .name = "nonzero",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = nullptr,
    .samples = samples,
};

}  // namespace symtile
