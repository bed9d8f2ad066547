// scatter_nd(x, indices, updates; reduction): x with the slices at the positions in the last axis
// of indices set to (or combined with) the slices of updates, in row-major order (ONNX ScatterND).
#include "symtile/op/index/indexing.h"
#include "symtile/op/index/reduction.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  require_reduction(c);
  c.require_dtype(1, is_index_dtype, "an integer type");
  c.require_same_dtype(0, 2);
  if (!c.rank_known(0) || !c.rank_known(1)) return {c.arg(0)};
  if (c.rank(0) < 1 || c.rank(1) < 1) {
    c.fail(DiagId::type_mismatch, "data and indices must have rank 1 or more, not {} and {}",
           c.rank(0), c.rank(1));
  }
  const std::optional<int64_t> depth = c.dims(1).back().as_const();
  if (!depth) return {c.arg(0)};
  if (*depth < 0 || *depth > c.rank(0)) {
    c.fail(DiagId::shape_mismatch, "the last dimension of the indices is {}; the data has rank {}",
           *depth, c.rank(0));
  }
  Dims expected(c.dims(1).begin(), c.dims(1).end() - 1);
  expected.insert(expected.end(), c.dims(0).begin() + *depth, c.dims(0).end());
  const int rank = static_cast<int>(expected.size());
  c.require_rank(2, rank, rank);
  for (size_t d = 0; d < expected.size() && c.rank_known(2); ++d) {
    c.require_equal(expected[d], c.dims(2)[d], fmt::format("dimension {} of the updates", d));
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& indices = c.in(1);
  RefTensor y = c.in(0);
  const std::string reduction = c.attrs().get_text("reduction", "none");
  const auto depth = static_cast<size_t>(indices.dims.back());
  const std::vector<int64_t> strides = y.strides();
  const std::vector<int64_t> outer(indices.dims.begin(), indices.dims.end() - 1);
  int64_t slice = 1;
  for (size_t d = depth; d < y.dims.size(); ++d) slice *= y.dims[d];
  int64_t row = 0;
  for_each_index(outer, [&](const auto&) {
    int64_t to = 0;
    for (size_t k = 0; k < depth; ++k) {
      const int64_t i = indices.as_int(row * static_cast<int64_t>(depth) + static_cast<int64_t>(k));
      to += resolve_index(c, i, y.dims[k]) * strides[k];
    }
    for (int64_t s = 0; s < slice; ++s) {
      apply_reduction(reduction, y, to + s, c.in(2), row * slice + s);
    }
    ++row;
  });
  c.outputs.push_back(std::move(y));
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1), updates = c.in(2), y = c.result();
  const std::string reduction = c.attrs().get_text("reduction", "none");
  const auto depth = static_cast<size_t>(indices.dims().back().as_const().value());
  c.compute(0, [&](const Index& out) { return x(out); });

  std::vector<Axis> rows, slice;
  for (size_t d = 0; d + 1 < indices.dims().size(); ++d)
    rows.push_back(c.axis("i", indices.dims()[d]));
  for (size_t d = depth; d < x.dims().size(); ++d) slice.push_back(c.axis("s", x.dims()[d]));
  const Index row = variables(rows), inner = variables(slice);
  Index to, from = row;
  std::vector<std::string> names;
  for (size_t k = 0; k < depth; ++k) {
    names.push_back(c.fresh("at"));
    to.push_back(var(names.back()));
  }
  to.insert(to.end(), inner.begin(), inner.end());
  from.insert(from.end(), inner.begin(), inner.end());
  Stmt body = store(y.buffer.name, to, reduced(reduction, y(to), updates(from)));

  // Rows may meet and run in order. Slices of rank 2 or more are spread over threads by their
  // first axis; the rest of a slice is the innermost, contiguous part.
  std::vector<Axis> spread;
  if (slice.size() > 1) {
    spread.push_back(slice.front());
    slice.erase(slice.begin());
  }
  body = loop_nest(slice, false, std::move(body));
  for (size_t k = depth; k-- > 0;) {
    const DimExpr& extent = x.dims()[k];
    if (!c.facts().proves_le(1, extent)) {
      body = make_stmt(IfStmt{to_expr(extent) > Expr(0), std::move(body), nullptr});
    }
    Index at = row;
    at.emplace_back(static_cast<int64_t>(k));
    body =
        make_stmt(LetStmt{names[k], wrap_index(indices(std::move(at)), extent), std::move(body)});
  }
  body = loop_nest(rows, false, std::move(body));
  c.statement(loop_nest(spread, true, std::move(body)));
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  const std::string none = "none", add = "add", max = "max";
  return {
      {{f({3, 4}), i({2, 1}), f({2, 4})}, {{"reduction", none}}, -3, 2},
      {.input_types = {f({4, n, 6}), i({m, 1}), f({m, n, 6})},
       .attrs = {{"reduction", add}},
       .low = -4,
       .high = 3,
       .symbols = {{"n", 5}, {"m", 9}}},
      {.input_types = {f({3, 3, n}), i({m, 2}), f({m, n})},
       .attrs = {{"reduction", none}},
       .low = -3,
       .high = 2,
       .symbols = {{"n", 7}, {"m", 12}}},
      {.input_types = {i({5}), i({m, 1}), i({m})},
       .attrs = {{"reduction", max}},
       .low = -5,
       .high = 4,
       .symbols = {{"m", 0}}},
  };
}

}  // namespace

extern const OpRecord scatter_nd_op;
const OpRecord scatter_nd_op = {
    .name = "scatter_nd",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"reduction", AttrSpec::Kind::text}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
