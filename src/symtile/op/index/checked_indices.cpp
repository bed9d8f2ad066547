// checked_indices(x; extents): x, after the check that every index is within [-extent, extent): all
// against one extent, or column k of the last dimension against extent k. It stands before
// operators that pick or place elements by position, whose kernels only stay inside the tensor.
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_index_dtype, "an integer type");
  const Dims& extents = c.attrs().get_dims("extents");
  if (extents.size() != 1 && c.rank_known(0)) {
    if (c.rank(0) == 0)
      c.fail(DiagId::shape_mismatch, "a scalar has no {} columns", extents.size());
    c.require_equal(c.dims(0).back(), static_cast<int64_t>(extents.size()),
                    "the last dimension of the indices");
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const std::vector<int64_t> extents = c.dims_attr("extents");
  RefTensor& y = c.out(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    (void)resolve_index(c, x.as_int(i), extents[static_cast<size_t>(i) % extents.size()]);
    y.copy_element(i, x, i);
  }
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  const auto of = [](Dims dims, DType dtype) { return Type::tensor(std::move(dims), dtype); };
  const auto to = [](Dims extents) { return Attributes{{"extents", std::move(extents)}}; };
  return {
      {{of({3, 4}, DType::i64)}, to({7}), -7, 6},
      {.input_types = {of({n, 2}, DType::i32)},
       .attrs = to({n, n + 3}),
       .low = -5,
       .high = 4,
       .symbols = {{"n", 5}}},
      {.input_types = {of({}, DType::i64)},
       .attrs = to({n}),
       .low = -1,
       .high = 0,
       .symbols = {{"n", 1}}},
      {.input_types = {of({n}, DType::i64)}, .attrs = to({n}), .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord checked_indices_op;
const OpRecord checked_indices_op = {
    .name = "checked_indices",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"extents", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = nullptr,
    .samples = samples,
};

}  // namespace symtile
