// trilu(x; upper, k): the upper (or lower) triangle of the last two axes, zeros elsewhere; k moves
// the diagonal (ONNX Trilu). Elements are selected, never multiplied: inf and NaN do not spread.
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  if (c.rank_known(0) && c.rank(0) < 2) {
    c.fail(DiagId::type_mismatch, "the operand must have rank 2 or more, not {}", c.rank(0));
  }
  if (c.attrs().has("k") && c.attrs().get_dims("k").size() != 1) {
    c.fail(DiagId::bad_attribute, "k must be one formula");
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const bool upper = c.attrs().get_bool("upper", true);
  const int64_t k = c.attrs().has("k") ? c.dims_attr("k")[0] : 0;
  RefTensor& y = c.out(x.dtype, x.dims);
  int64_t at = 0;
  for_each_index(x.dims, [&](const auto& index) {
    const int64_t diagonal = index[index.size() - 1] - index[index.size() - 2];
    if (upper ? diagonal >= k : diagonal <= k) y.copy_element(at, x, at);
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const bool upper = c.attrs().get_bool("upper", true);
  const Expr k = c.attrs().has("k") ? to_expr(single_dim(c.attrs(), "k")) : Expr(0);
  c.compute(0, [&](const Index& out) {
    const Expr column = out[out.size() - 1];
    const Expr diagonal = out[out.size() - 2] + k;
    return select(upper ? column >= diagonal : column <= diagonal, x(out), imm(x.dtype(), 0));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  return {
      {{Type::tensor({4, 5}, DType::f32)}, {{"upper", int64_t{1}}, {"k", Dims{1}}}},
      {.input_types = {Type::tensor({2, n, n}, DType::f32)},
       .attrs = {{"upper", int64_t{0}}},
       .symbols = {{"n", 7}}},
      {.input_types = {Type::tensor({n, 3}, DType::i64)},
       .attrs = {{"upper", int64_t{0}}, {"k", Dims{n - 6}}},
       .symbols = {{"n", 4}}},
      {{Type::tensor({3, 0, 5}, DType::boolean)}, {{"upper", int64_t{1}}}, 0, 1},
  };
}

}  // namespace

extern const OpRecord trilu_op;
const OpRecord trilu_op = {
    .name = "trilu",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"k", AttrSpec::Kind::dims}, {"upper", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
