// gather_nd(x, indices; batch_dims): each row of the last axis of indices is a position in the axes
// of x after the batch ones; the slice there becomes part of the result (ONNX GatherND).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(1, is_index_dtype, "an integer type");
  const int64_t batch = c.attrs().get_int("batch_dims", 0);
  if (batch < 0) c.fail(DiagId::bad_attribute, "batch_dims is negative: {}", batch);
  if (!c.rank_known(0) || !c.rank_known(1)) return {Type::tensor_any_rank(c.dtype(0))};
  const Dims &x = c.dims(0), &indices = c.dims(1);
  if (batch >= c.rank(0) || batch >= c.rank(1)) {
    c.fail(DiagId::shape_mismatch, "batch_dims {} must be less than the ranks {} and {}", batch,
           c.rank(0), c.rank(1));
  }
  const auto b = static_cast<size_t>(batch);
  Dims dims;
  for (size_t d = 0; d < b; ++d) {
    dims.push_back(c.require_equal(x[d], indices[d], fmt::format("batch dimension {}", d)));
  }
  dims.insert(dims.end(), indices.begin() + batch, indices.end() - 1);
  const std::optional<int64_t> depth = indices.back().as_const();
  if (!depth) return {Type::tensor_any_rank(c.dtype(0))};
  if (*depth < 1 || *depth > c.rank(0) - batch) {
    c.fail(DiagId::shape_mismatch, "the last dimension of the indices is {}; must be in [1, {}]",
           *depth, c.rank(0) - batch);
  }
  dims.insert(dims.end(), x.begin() + batch + *depth, x.end());
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& indices = c.in(1);
  const auto batch = static_cast<size_t>(c.attrs().get_int("batch_dims", 0));
  const auto depth = static_cast<size_t>(indices.dims.back());
  for (size_t d = 0; d < batch; ++d) {
    if (x.dims[d] != indices.dims[d]) {
      fail(DiagId::bad_input, {},
           "operator 'gather_nd': batch dimension {} is {} in the data, {} in the indices", d,
           x.dims[d], indices.dims[d]);
    }
  }
  const size_t outer = indices.dims.size() - 1;  // result axes that come from the indices
  std::vector<int64_t> dims(indices.dims.begin(), indices.dims.end() - 1);
  for (size_t d = batch + depth; d < x.dims.size(); ++d) dims.push_back(x.dims[d]);
  RefTensor& y = c.out(x.dtype, dims);
  const std::vector<int64_t> strides = x.strides(), index_strides = indices.strides();
  int64_t to = 0;
  for_each_index(dims, [&](const auto& index) {
    int64_t row = 0, from = 0;
    for (size_t d = 0; d < outer; ++d) row += index[d] * index_strides[d];
    for (size_t d = 0; d < batch; ++d) from += index[d] * strides[d];
    for (size_t k = 0; k < depth; ++k) {
      const int64_t i = indices.as_int(row + static_cast<int64_t>(k));
      from += resolve_index(c, i, x.dims[batch + k]) * strides[batch + k];
    }
    for (size_t d = outer; d < index.size(); ++d)
      from += index[d] * strides[d - outer + batch + depth];
    y.copy_element(to++, x, from);
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1);
  const auto batch = static_cast<size_t>(c.attrs().get_int("batch_dims", 0));
  const auto depth = static_cast<size_t>(indices.dims().back().as_const().value());
  const auto outer = static_cast<std::ptrdiff_t>(indices.rank() - 1);
  Dims indexed;
  for (size_t k = 0; k < depth; ++k) indexed.push_back(x.dims()[batch + k]);
  c.compute(0, [&](const Index& out) {
    Index in(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(batch));
    for (size_t k = 0; k < depth; ++k) {
      Index row(out.begin(), out.begin() + outer);
      row.emplace_back(static_cast<int64_t>(k));
      in.push_back(wrap_index(indices(std::move(row)), indexed[k]));
    }
    in.insert(in.end(), out.begin() + outer, out.end());
    return unless_empty(c, indexed, x(std::move(in)));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  return {
      {{f({2, 2}), i({2, 2})}, {{"batch_dims", int64_t{0}}}, -2, 1},
      {.input_types = {f({n, 3, 4, 5}), i({n, m, 2})},
       .attrs = {{"batch_dims", int64_t{1}}},
       .low = -3,
       .high = 2,
       .symbols = {{"n", 2}, {"m", 7}}},
      {.input_types = {f({3, n}), i({m, 1})},
       .attrs = {},
       .low = -3,
       .high = 2,
       .symbols = {{"n", 6}, {"m", 0}}},
  };
}

}  // namespace

extern const OpRecord gather_nd_op;
const OpRecord gather_nd_op = {
    .name = "gather_nd",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"batch_dims", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
