// top_k(x; k, axis, largest, sorted): the k largest (or smallest) elements along an axis, best
// first, and their i64 positions; of equal elements the one at the lower position comes first (ONNX
// TopK). NaN is larger than every number. Results are always sorted, which `sorted` = 0 permits.
#include <algorithm>

#include "symtile/op/index/indexing.h"
#include "symtile/op/index/sort_order.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& k = c.attrs().get_dims("k");
  if (k.size() != 1) c.fail(DiagId::bad_attribute, "k must be one formula");
  require_zero(c, max(0, -k[0]), fmt::format("k = {} is negative", k[0].str()));
  if (!c.rank_known(0)) {
    return {Type::tensor_any_rank(c.dtype(0)), Type::tensor_any_rank(DType::i64)};
  }
  if (c.rank(0) == 0) c.fail(DiagId::type_mismatch, "the operand must have rank 1 or more");
  const auto axis = static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis", -1), c.rank(0)));
  Dims dims = c.dims(0);
  if (!dims[axis].is_unknown()) {
    require_zero(
        c, max(0, k[0] - dims[axis]),
        fmt::format("k = {} exceeds the extent {} of axis {}", k[0].str(), dims[axis].str(), axis));
  }
  dims[axis] = k[0];
  return {Type::tensor(dims, c.dtype(0)), Type::tensor(dims, DType::i64)};
}

/// Total order with NaN above every number.
bool less(const RefTensor& x, int64_t a, int64_t b) {
  if (x.is_float_kind()) {
    const double va = x.as_double(a), vb = x.as_double(b);
    if (va != va) return false;
    return vb != vb || va < vb;
  }
  const int64_t va = x.as_int(a), vb = x.as_int(b);
  return x.dtype == DType::u64 ? static_cast<uint64_t>(va) < static_cast<uint64_t>(vb) : va < vb;
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const int64_t k = c.dims_attr("k")[0];
  const size_t axis = axis_attr(c.attrs(), x.rank(), "axis", -1);
  const bool largest = c.attrs().get_bool("largest", true);
  const int64_t n = x.dims[axis], stride = x.strides()[axis];
  if (k < 0 || k > n) fail(DiagId::bad_input, {}, "operator 'top_k': k = {} of {} elements", k, n);
  std::vector<int64_t> dims = x.dims;
  dims[axis] = k;
  RefTensor values(x.dtype, dims), positions(DType::i64, dims);
  const std::vector<int64_t> strides = x.strides(), out_strides = values.strides();
  std::vector<int64_t> lines = x.dims;
  lines[axis] = 1;
  for_each_index(lines, [&](const auto& index) {
    const int64_t from = flat_offset(index, strides), to = flat_offset(index, out_strides);
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return largest ? less(x, from + b * stride, from + a * stride)
                     : less(x, from + a * stride, from + b * stride);
    });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t best = order[static_cast<size_t>(i)];
      values.copy_element(to + i * out_strides[axis], x, from + best * stride);
      positions.set_int(to + i * out_strides[axis], best);
    }
  });
  c.outputs = {std::move(values), std::move(positions)};
}

/// The meaning, not a way to do it: every element counts those before it, and a result is the
/// element with that many. Schedules recognise these stages and sort (transform/tile/sorting.h).
void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const size_t axis = axis_attr(c.attrs(), x.rank(), "axis", -1);
  const bool largest = c.attrs().get_bool("largest", true);
  const auto at = [&](Index index, const Expr& i) {
    index[axis] = i;
    return index;
  };
  const auto element = [&](const Index& index, const Expr& i) {
    const Expr value = x(at(index, i));
    return value.dtype() == DType::boolean ? cast(DType::u8, value) : value;
  };
  const TensorRef ranks = c.temporary("ranks", DType::i64, x.dims(), [&](const Index& index) {
    const Expr i = index[axis];
    return reduce_over(ReduceKind::sum, c.axis("j", x.dims()[axis]), [&](const Expr& j) {
      return cast(DType::i64, stands_before(largest, element(index, j), j, element(index, i), i));
    });
  });
  c.compute(1, [&](const Index& index) {
    return reduce_over(ReduceKind::sum, c.axis("i", x.dims()[axis]), [&](const Expr& i) {
      return select(equal(ranks(at(index, i)), index[axis]), i, Expr(0));
    });
  });
  const TensorRef positions = c.result(1);
  c.compute(0, [&](const Index& index) { return x(at(index, positions(index))); });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  return {
      {{Type::tensor({3, 7}, DType::f32)}, {{"k", Dims{3}}}},
      {.input_types = {Type::tensor({n, m}, DType::f32)},
       .attrs = {{"k", Dims{min(4, m)}}, {"largest", int64_t{0}}},
       .symbols = {{"n", 5}, {"m", 33}}},
      {.input_types = {Type::tensor({2, n, 3}, DType::i64)},
       .attrs = {{"k", Dims{n}}, {"axis", int64_t{1}}},
       .symbols = {{"n", 9}}},
      {.input_types = {Type::tensor({n}, DType::f32)},
       .attrs = {{"k", Dims{0}}, {"axis", int64_t{0}}},
       .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord top_k_op;
const OpRecord top_k_op = {
    .name = "top_k",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer},
              {"k", AttrSpec::Kind::dims, true},
              {"largest", AttrSpec::Kind::integer},
              {"sorted", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
