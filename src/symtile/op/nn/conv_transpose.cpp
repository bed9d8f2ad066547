// conv_transpose: the gradient of conv with respect to its input. Every x (n, c, spatial...)
// element is spread over the output through w (c, oc / group, kernel...); `pads` (formulas) are cut
// off the result and `output_padding` is added at its end, plus an optional bias (oc).
// Spec: ONNX ConvTranspose; auto_pad and output_shape are resolved by the importer.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"
#include "symtile/op/nn/window.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, is_float, "a float type");
  if (c.has(2)) c.require_same_dtype(0, 2);
  if (!c.rank_known(0) && !c.rank_known(1)) return {Type::tensor_any_rank(c.dtype(0))};
  const int rank = c.rank_known(0) ? c.rank(0) : c.rank(1);
  c.require_rank(0, 3, 1 << 20);
  c.require_rank(1, rank, rank);
  check_window(c, rank - 2);
  const auto n = static_cast<size_t>(rank - 2);
  const std::vector<int64_t> more =
      c.attrs().get_ints("output_padding", std::vector<int64_t>(n, 0));
  if (more.size() != n) {
    c.fail(DiagId::bad_attribute, "output_padding has {} entries, but there are {} spatial axes",
           more.size(), n);
  }
  Dims out(static_cast<size_t>(rank), DimExpr::unknown());
  if (c.rank_known(0)) out[0] = c.dims(0)[0];
  if (!c.rank_known(1)) return {Type::tensor(out, c.dtype(0))};
  const Dims& w = c.dims(1);
  const int64_t group = c.attrs().get_int("group", 1);
  if (group < 1) c.fail(DiagId::bad_attribute, "group is {}, must be at least 1", group);
  out[1] = w[1] * group;
  if (c.has(2)) {
    c.require_rank(2, 1, 1);
    if (c.rank_known(2)) c.require_equal(c.dims(2)[0], out[1], "the length of the bias");
  }
  if (!c.rank_known(0)) return {Type::tensor(out, c.dtype(0))};
  const Dims& x = c.dims(0);
  c.require_equal(x[1], w[0], "the input channels and the weight's first dimension");
  if (const auto channels = w[0].as_const(); channels && *channels % group != 0) {
    c.fail(DiagId::shape_mismatch, "{} input channels cannot be split into {} groups", *channels,
           group);
  }
  const Window window = window_from(c.attrs(), Dims(w.begin() + 2, w.end()));
  for (size_t k = 0; k < n; ++k) {
    const DimExpr full = (x[k + 2] - 1) * window.strides[k] + window.reach(static_cast<int>(k));
    const DimExpr extent = full + more[k] - window.begin[k] - window.end[k];
    out[k + 2] = c.facts().simplify(extent);
    if (extent.is_unknown() || c.facts().proves_le(0, extent)) continue;
    if (c.facts().proves_lt(extent, 0)) {
      c.fail(DiagId::shape_mismatch, "spatial axis {} would get extent {}", k, extent.str());
    }
    c.checks.push_back({min(out[k + 2], 0), 0,
                        fmt::format("operator 'conv_transpose': spatial axis {} would get a "
                                    "negative extent",
                                    k)});
  }
  return {Type::tensor(out, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor &x = c.in(0), &w = c.in(1);
  const size_t n = x.dims.size() - 2;
  const std::vector<int64_t> strides = c.attrs().get_ints("strides", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> steps = c.attrs().get_ints("dilations", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> more =
      c.attrs().get_ints("output_padding", std::vector<int64_t>(n, 0));
  std::vector<int64_t> pads(2 * n, 0);
  if (c.attrs().has("pads")) pads = c.dims_attr("pads");
  const int64_t group = c.attrs().get_int("group", 1);
  std::vector<int64_t> dims = {x.dims[0], w.dims[1] * group};
  for (size_t k = 0; k < n; ++k) {
    dims.push_back((x.dims[k + 2] - 1) * strides[k] + (w.dims[k + 2] - 1) * steps[k] + 1 + more[k] -
                   pads[k] - pads[n + k]);
  }
  RefTensor& out = c.out(x.dtype, dims);
  const std::vector<int64_t> out_strides = out.strides();
  const std::vector<int64_t> kernel(w.dims.begin() + 1, w.dims.end());  // (oc / group, taps...)
  int64_t from = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& at) {
    const double value = x.as_double(from++);
    const int64_t first = at[1] / (x.dims[1] / group) * w.dims[1];
    for_each_index(kernel, [&](const std::vector<int64_t>& tap) {
      int64_t to = at[0] * out_strides[0] + (first + tap[0]) * out_strides[1];
      int64_t weight = at[1] * kernel[0] + tap[0];
      for (size_t k = 0; k < n; ++k) {
        const int64_t o = at[k + 2] * strides[k] + tap[k + 1] * steps[k] - pads[k];
        if (o < 0 || o >= dims[k + 2]) return;
        to += o * out_strides[k + 2];
        weight = weight * kernel[k + 1] + tap[k + 1];
      }
      out.set(to, out.as_double(to) + value * w.as_double(weight));
    });
  });
  if (!c.has(2)) return;
  int64_t to = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& at) {
    out.set(to, out.as_double(to) + c.in(2).as_double(at[1]));
    ++to;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), w = c.in(1);
  const DType acc = accumulation_type(c.out_dtype());
  const Window window = window_from(c.attrs(), Dims(w.dims().begin() + 2, w.dims().end()));
  const int64_t group = c.attrs().get_int("group", 1);
  c.compute(0, [&](const Index& index) {
    std::vector<Axis> axes = {c.axis("ic", floordiv(w.dims()[0], group))};
    for (const DimExpr& k : window.kernel) axes.push_back(c.axis("k", k));
    // Output o gathers the x at i and the taps t with i * stride + t * dilation - begin == o.
    const Expr sum = reduce_over(ReduceKind::sum, axes, [&](const Index& tap) {
      Expr channel = tap[0], filter = index[1];
      if (group != 1) {
        const Expr filters = to_expr(w.dims()[1]);
        channel = floordiv(index[1], filters) * to_expr(axes[0].extent) + tap[0];
        filter = floormod(index[1], filters);
      }
      Index x_at = {index[0], channel}, w_at = {channel, filter};
      Expr hit;
      for (size_t k = 0; k < window.kernel.size(); ++k) {
        const Expr stride(window.strides[k]);
        const Expr spread =
            index[k + 2] + to_expr(window.begin[k]) - tap[k + 1] * Expr(window.dilations[k]);
        if (window.strides[k] != 1) hit = and_also(hit, equal(floormod(spread, stride), Expr(0)));
        const Expr at = floordiv(spread, stride);
        hit = and_also(hit, at >= Expr(0));
        hit = and_also(hit, at < to_expr(x.dims()[k + 2]));
        x_at.push_back(at);
        w_at.push_back(tap[k + 1]);
      }
      return select(hit, cast(acc, x(x_at)), imm(acc, 0)) * cast(acc, w(w_at));
    });
    return cast(c.out_dtype(), c.has(2) ? sum + cast(acc, c.in(2)({index[1]})) : sum);
  });
}

std::vector<OpSample> samples() {
  const std::vector<int64_t> two = {2, 2};
  return {
      make_sample({f32_tensor({1, 3, 4, 5}), f32_tensor({3, 2, 3, 3}), f32_tensor({2})}),
      make_sample({f32_tensor({sym("b"), 4, sym("h"), sym("w")}), f32_tensor({4, 3, 3, 2})},
                  {{"strides", two},
                   {"pads", Dims{1, 0, 1, 1}},
                   {"group", int64_t{2}},
                   {"output_padding", std::vector<int64_t>{1, 0}}},
                  {{"b", 2}, {"h", 5}, {"w", 3}}),
      make_sample({f32_tensor({1, 2, sym("l")}), f32_tensor({2, 2, 4})},
                  {{"strides", std::vector<int64_t>{3}}, {"dilations", std::vector<int64_t>{2}}},
                  {{"l", 6}}),
      make_sample({f32_tensor({0, 2, 3, 3}), f32_tensor({2, 1, 2, 2})}),
  };
}

}  // namespace

extern const OpRecord conv_transpose_op;
const OpRecord conv_transpose_op = {
    .name = "conv_transpose",
    .min_args = 2,
    .max_args = 3,
    .attrs = window_attrs(
        {{"group", AttrSpec::Kind::integer}, {"output_padding", AttrSpec::Kind::integers}}),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
