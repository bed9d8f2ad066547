// one_hot(indices, values; depth, axis): values[1] where the position along the new axis equals the
// index (negative: from the end), values[0] elsewhere (ONNX OneHot).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_index_dtype, "an integer type");
  c.require_rank(1, 1, 1);
  if (c.rank_known(1))
    c.require_equal(c.dims(1)[0], 2, "the element count of the values (off, on)");
  const Dims& depth = c.attrs().get_dims("depth");
  if (depth.size() != 1) c.fail(DiagId::bad_attribute, "depth must be one formula");
  require_zero(c, max(0, -depth[0]), fmt::format("depth {} is negative", depth[0].str()));
  if (!c.rank_known(0)) return {Type::tensor_any_rank(c.dtype(1))};
  const int axis = c.normalize_axis(c.attrs().get_int("axis", -1), c.rank(0) + 1);
  Dims dims = c.dims(0);
  dims.insert(dims.begin() + axis, depth[0]);
  return {Type::tensor(std::move(dims), c.dtype(1))};
}

void evaluate(EvalContext& c) {
  const RefTensor& indices = c.in(0);
  const RefTensor& values = c.in(1);
  const int64_t depth = c.dims_attr("depth")[0];
  const auto axis =
      static_cast<std::ptrdiff_t>(axis_attr(c.attrs(), indices.rank() + 1, "axis", -1));
  std::vector<int64_t> dims = indices.dims;
  dims.insert(dims.begin() + axis, depth);
  RefTensor& y = c.out(values.dtype, dims);
  const std::vector<int64_t> strides = indices.strides();
  int64_t to = 0;
  for_each_index(dims, [&](std::vector<int64_t> index) {
    const int64_t position = index[static_cast<size_t>(axis)];
    index.erase(index.begin() + axis);
    const int64_t i = indices.as_int(flat_offset(index, strides));
    y.copy_element(to++, values, (i < 0 ? i + depth : i) == position ? 1 : 0);
  });
}

void lower(LowerContext& c) {
  const TensorRef indices = c.in(0), values = c.in(1);
  const Expr depth = to_expr(single_dim(c.attrs(), "depth"));
  const auto axis =
      static_cast<std::ptrdiff_t>(axis_attr(c.attrs(), indices.rank() + 1, "axis", -1));
  c.compute(0, [&](const Index& out) {
    Index in = out;
    in.erase(in.begin() + axis);
    Expr i = cast(DType::i64, indices(std::move(in)));
    if (!is_unsigned_int(indices.dtype())) i = select(i < Expr(0), i + depth, i);
    return select(equal(i, out[static_cast<size_t>(axis)]), values({Expr(1)}), values({Expr(0)}));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), k = DimExpr::symbol("k");
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  return {
      {{i({4}), f({2})}, {{"depth", Dims{5}}}, -6, 6},
      {.input_types = {i({n, 3, k}), f({2})},
       .attrs = {{"depth", Dims{k}}, {"axis", int64_t{1}}},
       .low = -4,
       .high = 4,
       .symbols = {{"n", 3}, {"k", 4}}},
      {.input_types = {Type::tensor({n}, DType::i32), i({2})},
       .attrs = {{"depth", Dims{3}}, {"axis", int64_t{0}}},
       .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord one_hot_op;
const OpRecord one_hot_op = {
    .name = "one_hot",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"axis", AttrSpec::Kind::integer}, {"depth", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
