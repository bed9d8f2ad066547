// conv: cross-correlation of x (n, c, spatial...) with w (oc, c / group, kernel...), plus an
// optional bias (oc). Padding (`pads`, formulas: all begins then all ends) contributes zero.
// Spec: ONNX Conv; auto_pad is resolved by the importer.
#include "symtile/op/nn/conv.h"

#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, is_float, "a float type");
  if (c.has(2)) c.require_same_dtype(0, 2);
  const std::optional<Dims> dims = deduce_conv_dims(c);
  if (!dims) return {Type::tensor_any_rank(c.dtype(0))};
  if (c.has(2)) {
    c.require_rank(2, 1, 1);
    if (c.rank_known(2)) c.require_equal(c.dims(2)[0], (*dims)[1], "the length of the bias");
  }
  return {Type::tensor(*dims, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const ConcreteWindow window = conv_window(c);
  const std::vector<int64_t> dims = conv_extents(c, window);
  RefTensor& out = c.out(c.in(0).dtype, dims);
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    double sum = 0;
    for_each_conv_tap(c, index, window, [&](const ConvTap& tap) {
      if (tap.x >= 0) sum += c.in(0).as_double(tap.x) * c.in(1).as_double(tap.w);
    });
    out.set(at++, sum + (c.has(2) ? c.in(2).as_double(index[1]) : 0));
  });
}

void lower(LowerContext& c) {
  const DType acc = accumulation_type(c.out_dtype());
  c.compute(0, [&](const Index& index) {
    const Expr sum = conv_sum(
        c, index,
        [&](const Index& at, const Expr& in_bounds) {
          return guarded(in_bounds, cast(acc, c.in(0)(at)), imm(acc, 0));
        },
        [&](const Index& at) { return cast(acc, c.in(1)(at)); });
    return cast(c.out_dtype(), c.has(2) ? sum + cast(acc, c.in(2)({index[1]})) : sum);
  });
}

std::vector<OpSample> samples() {
  const Dims ones = {1, 1, 1, 1};
  return {
      make_sample({f32_tensor({2, 3, 7, 6}), f32_tensor({4, 3, 3, 3}), f32_tensor({4})},
                  {{"pads", ones}}),
      make_sample({f32_tensor({sym("b"), 4, sym("h"), sym("w")}), f32_tensor({6, 2, 3, 2})},
                  {{"pads", Dims{1, 0, 2, 1}},
                   {"strides", std::vector<int64_t>{2, 1}},
                   {"dilations", std::vector<int64_t>{1, 2}},
                   {"group", int64_t{2}}},
                  {{"b", 2}, {"h", 9}, {"w", 11}}),
      make_sample(
          {f32_tensor({1, 8, sym("h"), sym("h")}), f32_tensor({8, 1, 3, 3}), f32_tensor({8})},
          {{"pads", ones}, {"group", int64_t{8}}}, {{"h", 5}}),
      make_sample({f32_tensor({2, 5, sym("l")}), f32_tensor({3, 5, 1})}, {}, {{"l", 13}}),
      make_sample({f32_tensor({1, 2, 4, 5, 4}), f32_tensor({2, 2, 2, 2, 2})}),
      make_sample({f32_tensor({0, 2, 4, 4}), f32_tensor({2, 2, 3, 3})}),
  };
}

}  // namespace

extern const OpRecord conv_op;
const OpRecord conv_op = {
    "conv", 2,        3,     window_attrs({{"group", AttrSpec::Kind::integer}}),
    deduce, evaluate, lower, samples};

}  // namespace symtile
