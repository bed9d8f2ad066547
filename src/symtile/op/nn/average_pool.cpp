// average_pool: mean of each window. The divisor counts the taps inside the input, or, with
// count_include_pad, the taps inside the padded input: a window cut off by ceil_mode never counts
// what lies beyond the padding.
// Spec: ONNX AveragePool.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/pool.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float, "a float type");
  return {Type::tensor(*deduce_pool_dims(c), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const ConcreteWindow window = pool_window(c);
  const bool include_pad = c.attrs().get_bool("count_include_pad", false);
  const std::vector<int64_t> dims = pool_extents(c, window);
  RefTensor& out = c.out(c.in(0).dtype, dims);
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    double sum = 0;
    int64_t count = 0;
    for_each_pool_tap(c, index, window, [&](int64_t flat, const std::vector<int64_t>& t) {
      if (flat >= 0) sum += c.in(0).as_double(flat);
      bool counted = true;
      for (size_t k = 0; k < t.size(); ++k) {
        const int64_t p = window.position(k, index[k + 2], t[k]);
        const int64_t low = include_pad ? -window.begin[k] : 0;
        const int64_t high = window.in[k] + (include_pad ? window.end[k] : 0);
        counted = counted && p >= low && p < high;
      }
      count += counted ? 1 : 0;
    });
    out.set(at++, sum / static_cast<double>(std::max<int64_t>(count, 1)));
  });
}

/// Number of taps of the window at `o` that lie in [low, high).
Expr taps_within(const Window& w, int axis, const Expr& o, const Expr& low, bool low_needed,
                 const Expr& high, bool high_needed) {
  const auto k = static_cast<size_t>(axis);
  const Expr dilation(w.dilations[k]);
  const Expr kernel = to_expr(w.kernel[k]);
  const Expr start = w.start(axis, o);
  // Taps t with start + t * dilation < bound: ceil((bound - start) / dilation) of them.
  const auto below = [&](const Expr& bound) {
    return max(min(floordiv(bound - start + (dilation - Expr(1)), dilation), kernel), Expr(0));
  };
  const Expr upper = high_needed ? below(high) : kernel;
  return low_needed ? upper - below(low) : upper;
}

void lower(LowerContext& c) {
  const DType acc = accumulation_type(c.out_dtype());
  const Window window = pool_window(c.attrs());
  const Dims& x = c.in(0).dims();
  const bool include_pad = c.attrs().get_bool("count_include_pad", false);
  c.compute(0, [&](const Index& index) {
    const Expr sum = pool_reduce(c, ReduceKind::sum, index, [&](const Index& at, const Expr& ok) {
      return guarded(ok, cast(acc, c.in(0)(at)), imm(acc, 0));
    });
    Expr count(1);
    for (int k = 0; k < window.spatial(); ++k) {
      const auto a = static_cast<size_t>(k);
      const DimExpr in = x[a + 2];
      const DimExpr high = include_pad ? in + window.end[a] : in;
      const DimExpr last = window.ceil_mode ? (window.extent(k, in) - 1) * window.strides[a] +
                                                  window.reach(k) - window.begin[a]
                                            : in + window.end[a];
      const bool low_needed = !include_pad && !c.facts().proves_le(window.begin[a], 0);
      const bool high_needed = !c.facts().proves_le(last, high);
      count = count *
              taps_within(window, k, index[a + 2], Expr(0), low_needed, to_expr(high), high_needed);
    }
    if (const auto taps = count.as_int()) {
      return cast(c.out_dtype(), sum / imm(acc, static_cast<double>(*taps)));
    }
    return cast(c.out_dtype(), sum / cast(acc, max(count, Expr(1))));
  });
}

std::vector<OpSample> samples() {
  const std::vector<int64_t> two = {2, 2}, three = {3, 3};
  return {
      make_sample({f32_tensor({1, 2, 6, 7})}, {{"kernel", two}, {"strides", two}}),
      make_sample({f32_tensor({sym("b"), 3, sym("h"), sym("w")})},
                  {{"kernel", three},
                   {"strides", two},
                   {"pads", Dims{1, 1, 1, 1}},
                   {"ceil_mode", int64_t{1}}},
                  {{"b", 2}, {"h", 8}, {"w", 5}}),
      make_sample({f32_tensor({1, 1, 9})}, {{"kernel", std::vector<int64_t>{7}},
                                            {"strides", std::vector<int64_t>{3}},
                                            {"pads", Dims{3, 3}},
                                            {"ceil_mode", int64_t{1}},
                                            {"count_include_pad", int64_t{1}}}),
      make_sample({f32_tensor({1, 2, sym("h"), 6})},
                  {{"kernel", three}, {"dilations", two}, {"pads", Dims{1, 2, 1, 2}}}, {{"h", 6}}),
      make_sample({f32_tensor({0, 2, 4, 4})}, {{"kernel", two}}),
  };
}

}  // namespace

extern const OpRecord average_pool_op;
const OpRecord average_pool_op = {
    "average_pool", 1,        1,     pool_attrs({{"count_include_pad", AttrSpec::Kind::integer}}),
    deduce,         evaluate, lower, samples};

}  // namespace symtile
