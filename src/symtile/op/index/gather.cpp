// gather(x, indices; axis): slices of x along an axis, picked by indices (ONNX Gather, numpy.take).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(1, is_index_dtype, "an integer type");
  if (!c.rank_known(0)) return {Type::tensor_any_rank(c.dtype(0))};
  const auto axis = static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
  if (!c.rank_known(1)) return {Type::tensor_any_rank(c.dtype(0))};
  const Dims& x = c.dims(0);
  Dims dims(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), c.dims(1).begin(), c.dims(1).end());
  dims.insert(dims.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& indices = c.in(1);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  const size_t picked = indices.dims.size();
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims.end());
  RefTensor& y = c.out(x.dtype, dims);
  const std::vector<int64_t> strides = x.strides(), index_strides = indices.strides();
  int64_t to = 0;
  for_each_index(dims, [&](const auto& index) {
    int64_t which = 0, from = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (d < axis) {
        from += index[d] * strides[d];
      } else if (d < axis + picked) {
        which += index[d] * index_strides[d - axis];
      } else {
        from += index[d] * strides[d - picked + 1];
      }
    }
    from += resolve_index(c, indices.as_int(which), x.dims[axis]) * strides[axis];
    y.copy_element(to++, x, from);
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1);
  const auto axis = static_cast<std::ptrdiff_t>(axis_attr(c.attrs(), x.rank()));
  const DimExpr extent = x.dims()[static_cast<size_t>(axis)];
  // A constant index is checked now and needs no wrapping in the loops.
  const Constant known = c.constant(1);
  const bool single = known && known->element_count() == 1;
  c.compute(0, [&](const Index& out) {
    const auto after = out.begin() + axis + indices.rank();
    Index in(out.begin(), out.begin() + axis);
    Expr at = wrap_index(indices(Index(out.begin() + axis, after)), extent);
    if (single && known->as_int(0) >= 0 && c.facts().proves_lt(known->as_int(0), extent)) {
      at = Expr(known->as_int(0));
    }
    in.push_back(std::move(at));
    in.insert(in.end(), after, out.end());
    return unless_empty(c, {extent}, x(std::move(in)));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims, DType t = DType::i64) { return Type::tensor(std::move(dims), t); };
  return {
      {{f({5}), i({3})}, {{"axis", int64_t{0}}}, -5, 4},
      {.input_types = {f({50, 8}), i({n, m})},
       .attrs = {{"axis", int64_t{0}}},
       .low = -50,
       .high = 49,
       .symbols = {{"n", 3}, {"m", 7}}},
      {.input_types = {f({n, 4, m}), i({}, DType::i32)},
       .attrs = {{"axis", int64_t{1}}},
       .low = -4,
       .high = 3,
       .symbols = {{"n", 2}, {"m", 5}}},
      {.input_types = {i({3, 6}), i({2, 2}, DType::i32)},
       .attrs = {{"axis", int64_t{-1}}},
       .low = -6,
       .high = 5},
      {{f({1, 6, 0}), i({1})}, {{"axis", int64_t{0}}}, 0, 0},
  };
}

}  // namespace

extern const OpRecord gather_op;
const OpRecord gather_op = {
    .name = "gather",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"axis", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
