// pad(x, value?; pads, mode): x with pads[d] elements before and pads[rank + d] after axis d.
// Modes constant, reflect, edge, wrap as in ONNX Pad and numpy.pad: a reflection longer than the
// axis keeps reflecting. Negative pads crop.
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& pads = c.attrs().get_dims("pads");
  const std::string mode = c.attrs().get_text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    c.fail(DiagId::bad_attribute, "mode '{}' is none of constant, reflect, edge, wrap", mode);
  }
  if (pads.size() % 2 != 0) c.fail(DiagId::bad_attribute, "{} pads; two an axis", pads.size());
  const int rank = static_cast<int>(pads.size() / 2);
  c.require_rank(0, rank, rank);
  if (c.has(1)) {
    c.require_same_dtype(0, 1);
    if (c.rank_known(1))
      c.require_equal(product(c.dims(1)), 1, "the element count of the pad value");
  }
  Dims dims(static_cast<size_t>(rank), DimExpr::unknown());
  for (size_t d = 0; d < dims.size() && c.rank_known(0); ++d) {
    const DimExpr& before = pads[d];
    const DimExpr& after = pads[d + dims.size()];
    const DimExpr& extent = c.dims(0)[d];
    if (extent.is_unknown()) continue;
    dims[d] = extent + before + after;
    require_zero(c, max(0, -dims[d]),
                 fmt::format("pads {} and {} crop dimension {} of extent {} below zero",
                             before.str(), after.str(), d, extent.str()));
    // There is nothing to repeat in an empty axis.
    if (mode != "constant" && !c.facts().proves_le(1, extent)) {
      require_zero(c, min(max(before, 0) + max(after, 0), 1) * (1 - min(extent, 1)),
                   fmt::format("mode {} cannot pad empty dimension {}", mode, d));
    }
  }
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

/// Position in 0..n-1 of the padded position `at`, n >= 1.
int64_t source_position(const std::string& mode, int64_t at, int64_t n) {
  if (mode == "edge") return std::min(std::max(at, int64_t{0}), n - 1);
  if (mode == "wrap") return ((at % n) + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1);
  const int64_t phase = ((at % period) + period) % period;
  return phase < n ? phase : period - phase;
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const std::vector<int64_t> pads = c.dims_attr("pads");
  const std::string mode = c.attrs().get_text("mode", "constant");
  std::vector<int64_t> dims;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    dims.push_back(x.dims[d] + pads[d] + pads[d + x.dims.size()]);
  }
  RefTensor& y = c.out(x.dtype, dims);
  const std::vector<int64_t> strides = x.strides();
  int64_t to = 0;
  for_each_index(dims, [&](const auto& index) {
    int64_t from = 0;
    bool inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t at = index[d] - pads[d];
      if (at < 0 || at >= x.dims[d]) {
        if (mode == "constant") {
          inside = false;
          break;
        }
        if (x.dims[d] == 0)
          fail(DiagId::bad_input, {}, "operator 'pad': mode {} of an empty axis", mode);
        at = source_position(mode, at, x.dims[d]);
      }
      from += at * strides[d];
    }
    if (inside) {
      y.copy_element(to, x, from);
    } else if (c.has(1)) {
      y.copy_element(to, c.in(1), 0);
    }
    ++to;
  });
}

/// As source_position, for the loops. `small`: the pads are provably smaller than the extent.
Expr source_expr(const std::string& mode, const Expr& at, const DimExpr& extent, bool small) {
  const Expr n = to_expr(extent);
  const Expr last = to_expr(extent - 1);
  if (mode == "edge") return min(max(at, Expr(0)), last);
  if (mode == "wrap") return floormod(at, n);
  if (small) {
    const Expr positive = max(at, Expr(0) - at);
    return min(positive, Expr(2) * last - positive);
  }
  const Expr period = max(Expr(2) * last, Expr(1));
  const Expr phase = floormod(at, period);
  return min(phase, period - phase);
}

void lower(LowerContext& c) {
  const Dims& pads = c.attrs().get_dims("pads");
  const std::string mode = c.attrs().get_text("mode", "constant");
  const TensorRef x = c.in(0);
  const auto rank = static_cast<size_t>(x.rank());
  const Facts& facts = c.facts();
  Expr fill = imm(x.dtype(), 0);
  if (c.has(1)) {
    const TensorRef value = c.in(1);
    fill = c.constant(1)
               ? (is_float(value.dtype()) ? imm(value.dtype(), c.constant(1)->as_double(0))
                                          : int_imm(value.dtype(), c.constant(1)->as_int(0)))
               : value(Index(static_cast<size_t>(value.rank()), Expr(0)));
  }
  c.compute(0, [&](const Index& out) {
    Index in = out;
    Expr inside;
    const auto require = [&](Expr condition) {
      inside = inside.defined() ? inside && condition : condition;
    };
    for (size_t d = 0; d < rank; ++d) {
      const DimExpr& before = pads[d];
      const DimExpr& after = pads[d + rank];
      const DimExpr& extent = x.dims()[d];
      const bool pads_before = !facts.proves_le(before, 0), pads_after = !facts.proves_le(after, 0);
      in[d] = out[d] - to_expr(before);
      if (!pads_before && !pads_after) continue;
      if (mode == "constant") {
        if (pads_before) require(in[d] >= Expr(0));
        if (pads_after) require(in[d] < to_expr(extent));
      } else {
        const bool small = facts.proves_lt(before, extent) && facts.proves_lt(after, extent);
        in[d] = source_expr(mode, in[d], extent, small);
      }
    }
    Expr value = x(std::move(in));
    return inside.defined() ? select(inside, value, fill) : value;
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), p = DimExpr::symbol("p");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const std::string constant = "constant", reflect = "reflect", edge = "edge", wrap = "wrap";
  return {
      {{f({2, 3}), f({})}, {{"pads", Dims{1, 2, 0, -1}}, {"mode", constant}}},
      {.input_types = {f({n, 4})},
       .attrs = {{"pads", Dims{p, 0, 1, 3}}, {"mode", constant}},
       .symbols = {{"n", 0}, {"p", 2}}},
      {{f({3, 2})}, {{"pads", Dims{0, 5, 2, 0}}, {"mode", reflect}}},
      {.input_types = {Type::tensor({2, n}, DType::i32)},
       .attrs = {{"pads", Dims{0, 3, 0, p}}, {"mode", reflect}},
       .symbols = {{"n", 5}, {"p", 2}}},
      {.input_types = {f({n, 3})},
       .attrs = {{"pads", Dims{4, 1, 2, 1}}, {"mode", edge}},
       .symbols = {{"n", 1}}},
      {.input_types = {f({n})},
       .attrs = {{"pads", Dims{7, 3}}, {"mode", wrap}},
       .symbols = {{"n", 3}}},
  };
}

}  // namespace

extern const OpRecord pad_op;
const OpRecord pad_op = {
    .name = "pad",
    .min_args = 1,
    .max_args = 2,
    .attrs = {{"mode", AttrSpec::Kind::text}, {"pads", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
