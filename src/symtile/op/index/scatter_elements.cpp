// scatter_elements(x, indices, updates; axis, reduction): x with result[indices[i][j]][j] set to
// (or combined with) updates[i][j] for axis 0, and so on, in row-major order (ONNX
// ScatterElements).
#include "symtile/op/index/indexing.h"
#include "symtile/op/index/reduction.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  require_reduction(c);
  c.require_dtype(1, is_index_dtype, "an integer type");
  c.require_same_dtype(0, 2);
  if (c.rank_known(0)) {
    c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0));
    for (int i = 1; i < 3; ++i) c.require_rank(i, c.rank(0), c.rank(0));
  }
  if (c.rank_known(1) && c.rank_known(2)) {
    c.require_rank(2, c.rank(1), c.rank(1));
    for (size_t d = 0; d < c.dims(1).size(); ++d) {
      c.require_equal(c.dims(1)[d], c.dims(2)[d], fmt::format("dimension {} of the updates", d));
    }
  }
  if (c.rank_known(0) && c.rank_known(1)) {
    const auto axis =
        static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0)));
    for (size_t d = 0; d < c.dims(0).size(); ++d) {
      const DimExpr &have = c.dims(0)[d], &want = c.dims(1)[d];
      if (d == axis || have.is_unknown() || want.is_unknown()) continue;
      require_zero(c, max(0, want - have),
                   fmt::format("dimension {} of the indices, {}, exceeds that of the data, {}", d,
                               want.str(), have.str()));
    }
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& indices = c.in(1);
  RefTensor y = c.in(0);
  const size_t axis = axis_attr(c.attrs(), y.rank());
  const std::string reduction = c.attrs().get_text("reduction", "none");
  const std::vector<int64_t> strides = y.strides();
  int64_t from = 0;
  for_each_index(indices.dims, [&](const auto& index) {
    std::vector<int64_t> to = index;
    to[axis] = resolve_index(c, indices.as_int(from), y.dims[axis]);
    apply_reduction(reduction, y, flat_offset(to, strides), c.in(2), from++);
  });
  c.outputs.push_back(std::move(y));
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1), updates = c.in(2), y = c.result();
  const std::string reduction = c.attrs().get_text("reduction", "none");
  const size_t axis = axis_attr(c.attrs(), x.rank());
  c.compute(0, [&](const Index& out) { return x(out); });

  std::vector<Axis> axes;
  for (int d = 0; d < indices.rank(); ++d) {
    axes.push_back(c.axis("i", indices.dims()[static_cast<size_t>(d)]));
  }
  const Index at = variables(axes);
  const std::string where = c.fresh("at");
  Index to = at;
  to[axis] = var(where);
  Stmt body = store(y.buffer.name, to, reduced(reduction, y(to), updates(at)));
  if (!c.facts().proves_le(1, x.dims()[axis])) {
    body = make_stmt(IfStmt{to_expr(x.dims()[axis]) > Expr(0), std::move(body), nullptr});
  }
  body = make_stmt(LetStmt{where, wrap_index(indices(at), x.dims()[axis]), std::move(body)});
  // Updates along `axis` may meet, so they run in order; the other axes are independent.
  const Axis ordered = axes[axis];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
  axes.push_back(ordered);
  c.statement(loop_nest(axes, axes.size() > 1, std::move(body)));
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  const std::string none = "none", add = "add", mul = "mul", min = "min", max = "max";
  return {
      {{f({3, 4}), i({2, 4}), f({2, 4})}, {{"axis", int64_t{0}}, {"reduction", none}}, -3, 2},
      {.input_types = {f({n, 5}), i({n, 8}), f({n, 8})},
       .attrs = {{"axis", int64_t{-1}}, {"reduction", add}},
       .low = -5,
       .high = 4,
       .symbols = {{"n", 6}}},
      {{f({4}), i({9}), f({9})}, {{"axis", int64_t{0}}, {"reduction", max}}, -4, 3},
      {.input_types = {i({3, n}), i({2, n}), i({2, n})},
       .attrs = {{"axis", int64_t{0}}, {"reduction", min}},
       .low = -3,
       .high = 2,
       .symbols = {{"n", 0}}},
      {{f({2, 3}), i({2, 2}), f({2, 2})}, {{"axis", int64_t{1}}, {"reduction", mul}}, -3, 2},
  };
}

}  // namespace

extern const OpRecord scatter_elements_op;
const OpRecord scatter_elements_op = {
    .name = "scatter_elements",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"axis", AttrSpec::Kind::integer}, {"reduction", AttrSpec::Kind::text}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
