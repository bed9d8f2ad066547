// gather_elements(x, indices; axis): result[i][j] = x[indices[i][j]][j] for axis 0, and so on
// (ONNX GatherElements).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(1, is_index_dtype, "an integer type");
  if (c.rank_known(0)) {
    c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0));
    c.require_rank(1, c.rank(0), c.rank(0));
  }
  if (!c.rank_known(1)) {
    return {c.rank_known(0) ? Type::tensor_of_rank(c.rank(0), c.dtype(0))
                            : Type::tensor_any_rank(c.dtype(0))};
  }
  if (c.rank_known(0)) {
    const auto axis =
        static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
    for (size_t d = 0; d < c.dims(0).size(); ++d) {
      const DimExpr &have = c.dims(0)[d], &want = c.dims(1)[d];
      if (d == axis || have.is_unknown() || want.is_unknown()) continue;
      require_zero(c, max(0, want - have),
                   fmt::format("dimension {} of the indices, {}, exceeds that of the data, {}", d,
                               want.str(), have.str()));
    }
  }
  return {Type::tensor(c.dims(1), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& indices = c.in(1);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  RefTensor& y = c.out(x.dtype, indices.dims);
  const std::vector<int64_t> strides = x.strides();
  int64_t to = 0;
  for_each_index(indices.dims, [&](const auto& index) {
    std::vector<int64_t> from = index;
    from[axis] = resolve_index(c, indices.as_int(to), x.dims[axis]);
    y.copy_element(to++, x, flat_offset(from, strides));
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  c.compute(0, [&](const Index& out) {
    Index in = out;
    in[axis] = wrap_index(indices(out), x.dims()[axis]);
    return unless_empty(c, {x.dims()[axis]}, x(std::move(in)));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  return {
      {{f({3, 4}), i({2, 4})}, {{"axis", int64_t{0}}}, -3, 2},
      {.input_types = {f({n, 5}), i({n, 9})},
       .attrs = {{"axis", int64_t{-1}}},
       .low = -5,
       .high = 4,
       .symbols = {{"n", 6}}},
      {.input_types = {f({2, n, 3}), Type::tensor({2, n, 1}, DType::i32)},
       .attrs = {{"axis", int64_t{2}}},
       .low = -3,
       .high = 2,
       .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord gather_elements_op;
const OpRecord gather_elements_op = {
    .name = "gather_elements",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"axis", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
