// tile(x; repeats): x repeated repeats[d] times along axis d (numpy.tile, one entry for each axis).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& repeats = c.attrs().get_dims("repeats");
  const int rank = static_cast<int>(repeats.size());
  c.require_rank(0, rank, rank);
  Dims dims(repeats.size(), DimExpr::unknown());
  for (size_t d = 0; d < repeats.size(); ++d) {
    require_zero(c, max(0, -repeats[d]),
                 fmt::format("repeat count {} of axis {} is negative", repeats[d].str(), d));
    if (c.rank_known(0)) dims[d] = c.dims(0)[d] * repeats[d];
  }
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const std::vector<int64_t> repeats = c.dims_attr("repeats");
  std::vector<int64_t> dims;
  for (size_t d = 0; d < repeats.size(); ++d) dims.push_back(x.dims[d] * repeats[d]);
  RefTensor& y = c.out(x.dtype, dims);
  const std::vector<int64_t> strides = x.strides();
  int64_t to = 0;
  for_each_index(dims, [&](const auto& index) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] % x.dims[d] * strides[d];
    y.copy_element(to++, x, from);
  });
}

void lower(LowerContext& c) {
  const Dims& repeats = c.attrs().get_dims("repeats");
  const TensorRef x = c.in(0);
  c.compute(0, [&](const Index& out) {
    Index in = out;
    for (size_t d = 0; d < out.size(); ++d) {
      if (c.facts().proves_equal(repeats[d], 1)) continue;
      in[d] = x.dims()[d].is_const(1) ? Expr(0) : floormod(out[d], to_expr(x.dims()[d]));
    }
    return x(std::move(in));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), r = DimExpr::symbol("r");
  return {
      {{Type::tensor({2, 3}, DType::f32)}, {{"repeats", Dims{2, 2}}}},
      {.input_types = {Type::tensor({n, 1, 4}, DType::f32)},
       .attrs = {{"repeats", Dims{1, r, 2}}},
       .symbols = {{"n", 3}, {"r", 5}}},
      {.input_types = {Type::tensor({n}, DType::i64)},
       .attrs = {{"repeats", Dims{r}}},
       .symbols = {{"n", 4}, {"r", 0}}},
      {{Type::tensor({0, 2}, DType::f32)}, {{"repeats", Dims{3, 1}}}},
  };
}

}  // namespace

extern const OpRecord tile_op;
const OpRecord tile_op = {
    .name = "tile",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"repeats", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
