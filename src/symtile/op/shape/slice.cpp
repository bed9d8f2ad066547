// slice(x; begin, extent, step): result[i] = x[begin + step * i] on every axis, 0 <= i < extent.
// The normal form of ONNX Slice and Split: bounds are resolved and clamped before.
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

/// How far the first and last element lie outside 0 <= at < extent, summed; 0 when empty.
DimExpr overrun(const DimExpr& begin, const DimExpr& count, int64_t step, const DimExpr& extent,
                const Facts& facts) {
  const DimExpr last = begin + DimExpr(step) * (count - 1);
  const DimExpr& low = step > 0 ? begin : last;
  const DimExpr& high = step > 0 ? last : begin;
  DimExpr sum = 0;
  if (!facts.proves_le(0, low)) sum += max(0, -low);
  if (!facts.proves_lt(high, extent)) sum += max(0, high + 1 - extent);
  return facts.proves_le(1, count) || sum.is_const(0) ? sum : sum * min(count, 1);
}

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& begin = c.attrs().get_dims("begin");
  const Dims& extent = c.attrs().get_dims("extent");
  const std::vector<int64_t> step = c.attrs().get_ints("step");
  if (begin.size() != extent.size() || step.size() != extent.size()) {
    c.fail(DiagId::bad_attribute, "begin, extent and step must have one entry for every axis");
  }
  const int rank = static_cast<int>(extent.size());
  c.require_rank(0, rank, rank);
  for (size_t d = 0; d < extent.size(); ++d) {
    if (step[d] == 0) c.fail(DiagId::bad_attribute, "step {} is 0", d);
    if (extent[d].as_const().value_or(0) < 0) {
      c.fail(DiagId::bad_attribute, "extent {} is negative: {}", d, extent[d].str());
    }
    if (!c.rank_known(0) || c.dims(0)[d].is_unknown()) continue;
    const DimExpr& from = c.dims(0)[d];
    require_zero(c, overrun(begin[d], extent[d], step[d], from, c.facts()),
                 fmt::format("{} elements from {} by {} lie outside dimension {} of extent {}",
                             extent[d].str(), begin[d].str(), step[d], d, from.str()));
  }
  return {Type::tensor(extent, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const std::vector<int64_t> begin = c.dims_attr("begin");
  const std::vector<int64_t> step = c.attrs().get_ints("step");
  RefTensor& y = c.out(x.dtype, c.dims_attr("extent"));
  const std::vector<int64_t> strides = x.strides();
  int64_t to = 0;
  for_each_index(y.dims, [&](const auto& index) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = begin[d] + step[d] * index[d];
      if (at < 0 || at >= x.dims[d]) {
        fail(DiagId::bad_input, {}, "operator 'slice': element {} of dimension {} of extent {}", at,
             d, x.dims[d]);
      }
      from += at * strides[d];
    }
    y.copy_element(to++, x, from);
  });
}

void lower(LowerContext& c) {
  const Dims& begin = c.attrs().get_dims("begin");
  const std::vector<int64_t> step = c.attrs().get_ints("step");
  const TensorRef x = c.in(0);
  c.compute(0, [&](const Index& out) {
    Index in;
    for (size_t d = 0; d < out.size(); ++d) {
      in.push_back(to_expr(begin[d]) + Expr(step[d]) * out[d]);
    }
    return x(std::move(in));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  using Ints = std::vector<int64_t>;
  return {
      {{Type::tensor({10}, DType::f32)},
       {{"begin", Dims{9}}, {"extent", Dims{9}}, {"step", Ints{-1}}}},
      {.input_types = {Type::tensor({n, 8}, DType::f32)},
       .attrs = {{"begin", Dims{min(2, n), 1}},
                 {"extent", Dims{n - min(2, n), 3}},
                 {"step", Ints{1, 2}}},
       .symbols = {{"n", 9}}},
      {.input_types = {Type::tensor({3, n}, DType::i32)},
       .attrs = {{"begin", Dims{2, n - 1}}, {"extent", Dims{2, n}}, {"step", Ints{-1, -1}}},
       .symbols = {{"n", 0}}},
      {{Type::tensor({20}, DType::f16)},
       {{"begin", Dims{19}}, {"extent", Dims{7}}, {"step", Ints{-3}}}},
  };
}

}  // namespace

extern const OpRecord slice_op;
const OpRecord slice_op = {
    .name = "slice",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"begin", AttrSpec::Kind::dims, true},
              {"extent", AttrSpec::Kind::dims, true},
              {"step", AttrSpec::Kind::integers, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
