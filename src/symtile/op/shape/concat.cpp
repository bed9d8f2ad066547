// concat(x...; axis): the tensors one after another along an axis (ONNX Concat).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  int known = -1;
  for (int i = 0; i < c.num_args(); ++i) {
    if (i > 0) c.require_same_dtype(0, i);
    if (known < 0 && c.rank_known(i)) known = i;
  }
  if (known < 0) return {Type::tensor_any_rank(c.dtype(0))};
  const int rank = c.rank(known);
  const auto axis = static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis"), rank));
  Dims dims = c.dims(known);
  DimExpr total = 0;
  for (int i = 0; i < c.num_args(); ++i) {
    c.require_rank(i, rank, rank);
    if (!c.rank_known(i)) {
      total = DimExpr::unknown();
      continue;
    }
    total += c.dims(i)[axis];
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d == axis || i == known) continue;
      dims[d] =
          c.require_equal(dims[d], c.dims(i)[d], fmt::format("dimension {} of operand {}", d, i));
    }
  }
  dims[axis] = total;
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  std::vector<int64_t> dims = c.in(0).dims;
  const size_t axis = axis_attr(c.attrs(), c.in(0).rank());
  dims[axis] = 0;
  for (const RefTensor* x : c.inputs) dims[axis] += x->dims[axis];
  RefTensor& y = c.out(c.in(0).dtype, dims);
  const std::vector<int64_t> strides = y.strides();
  int64_t base = 0;
  for (const RefTensor* x : c.inputs) {
    int64_t from = 0;
    for_each_index(x->dims, [&](const auto& index) {
      y.copy_element(base + flat_offset(index, strides), *x, from++);
    });
    base += x->dims[axis] * strides[axis];
  }
}

void lower(LowerContext& c) {
  std::vector<TensorRef> parts;
  for (int i = 0; i < c.num_args(); ++i) {
    TensorRef x = c.in(i);
    if (!x.dims()[axis_attr(c.attrs(), x.rank())].is_const(0)) parts.push_back(std::move(x));
  }
  if (parts.empty()) parts.push_back(c.in(0));
  const size_t axis = axis_attr(c.attrs(), parts[0].rank());
  std::vector<DimExpr> offset = {0};
  for (const TensorRef& x : parts) offset.push_back(offset.back() + x.dims()[axis]);
  c.compute(0, [&](const Index& out) {
    Expr value;
    for (size_t k = parts.size(); k-- > 0;) {
      Index in = out;
      in[axis] = out[axis] - to_expr(offset[k]);
      Expr part = parts[k](std::move(in));
      value = value.defined() ? select(out[axis] < to_expr(offset[k + 1]), part, value) : part;
    }
    return value;
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  return {
      {{f({2, 3}), f({2, 4})}, {{"axis", int64_t{1}}}},
      {.input_types = {f({n, 4}), f({m, 4}), f({3, 4})},
       .attrs = {{"axis", int64_t{0}}},
       .symbols = {{"n", 5}, {"m", 0}}},
      {.input_types = {Type::tensor({2, n, 3}, DType::i64), Type::tensor({2, n, 1}, DType::i64)},
       .attrs = {{"axis", int64_t{-1}}},
       .symbols = {{"n", 6}}},
      {{f({4, 0}), f({4, 0})}, {{"axis", int64_t{1}}}},
      {{f({5})}, {{"axis", int64_t{0}}}},
  };
}

}  // namespace

extern const OpRecord concat_op;
const OpRecord concat_op = {
    .name = "concat",
    .min_args = 1,
    .max_args = -1,
    .attrs = {{"axis", AttrSpec::Kind::integer, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
