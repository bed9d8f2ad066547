#include "symtile/op/index/cumulative.h"

namespace symtile {

namespace {

bool is_number(DType t) { return t != DType::boolean; }

}  // namespace

std::vector<AttrSpec> cumulative_attrs() {
  return {{"axis", AttrSpec::Kind::integer, true},
          {"exclusive", AttrSpec::Kind::integer},
          {"reverse", AttrSpec::Kind::integer}};
}

std::vector<Type> deduce_cumulative(DeduceContext& c) {
  c.require_dtype(0, is_number, "a numeric type");
  if (c.rank_known(0)) c.normalize_axis(c.attrs().get_int("axis"), c.rank(0));
  return {c.arg(0)};
}

void evaluate_cumulative(EvalContext& c, Running kind) {
  const bool sums = kind == Running::sum;
  const RefTensor& x = c.in(0);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  const bool exclusive = c.attrs().get_bool("exclusive", false);
  const bool reverse = c.attrs().get_bool("reverse", false);
  RefTensor& y = c.out(x.dtype, x.dims);
  const int64_t stride = x.strides()[axis], n = x.dims[axis];
  int64_t at = 0;
  for_each_index(x.dims, [&](const auto& index) {
    const int64_t i = index[axis];
    const int64_t first = reverse ? i + (exclusive ? 1 : 0) : 0;
    const int64_t end = reverse ? n : i + (exclusive ? 0 : 1);
    double real = sums ? 0 : 1;
    uint64_t whole = sums ? 0 : 1;
    for (int64_t j = first; j < end; ++j) {
      const int64_t from = at + (j - i) * stride;
      if (x.is_float_kind()) {
        real = sums ? real + x.as_double(from) : real * x.as_double(from);
      } else {
        const auto element = static_cast<uint64_t>(x.as_int(from));
        whole = sums ? whole + element : whole * element;
      }
    }
    if (x.is_float_kind()) {
      y.set(at, real);
    } else {
      y.set_int(at, static_cast<int64_t>(whole));
    }
    ++at;
  });
}

void lower_cumulative(LowerContext& c, Running kind) {
  const TensorRef x = c.in(0);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  const bool exclusive = c.attrs().get_bool("exclusive", false);
  const bool reverse = c.attrs().get_bool("reverse", false);
  // 16-bit floats would lose the small addends: f32 holds what has run up, rounded once.
  const bool widen = is_float(x.dtype()) && size_of(x.dtype()) == 2;
  const TensorRef running = widen ? c.buffer("sums", DType::f32, x.dims()) : c.result();

  std::vector<Axis> axes;
  for (const DimExpr& d : x.dims()) axes.push_back(c.axis("i", d));
  const Expr last = to_expr(x.dims()[axis] - 1);
  const auto along = [&](const Expr& i) { return reverse ? last - i : i; };
  const Expr step = var(axes[axis].name);
  Index here = variables(axes), before = here;
  here[axis] = along(step);
  before[axis] = along(step - Expr(1));
  const Expr start = imm(running.dtype(), kind == Running::sum ? 0 : 1);
  const auto after_first = [&](const Expr& value) { return select(step > Expr(0), value, start); };
  const Expr so_far = after_first(running(before));
  const Expr element =
      exclusive ? after_first(cast(running.dtype(), x(before))) : cast(running.dtype(), x(here));
  const Expr value = kind == Running::sum ? so_far + element : so_far * element;
  Stmt body = store(running.buffer.name, here, value);

  // The axis runs in order inside the first other axis, which is independent.
  if (axis == 0 && axes.size() > 1) std::swap(axes[0], axes[1]);
  c.statement(loop_nest(axes, axes.size() > 1, std::move(body)));
  if (widen) c.compute(0, [&](const Index& out) { return cast(x.dtype(), running(out)); });
}

std::vector<OpSample> cumulative_samples() {
  const DimExpr n = DimExpr::symbol("n");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  return {
      {{f({3, 4})}, {{"axis", int64_t{1}}}},
      {.input_types = {f({n, 5, 3})},
       .attrs = {{"axis", int64_t{0}}, {"reverse", int64_t{1}}},
       .symbols = {{"n", 7}}},
      {.input_types = {Type::tensor({n}, DType::i32)},
       .attrs = {{"axis", int64_t{-1}}, {"exclusive", int64_t{1}}},
       .symbols = {{"n", 9}}},
      {.input_types = {f({2, n, 3})},
       .attrs = {{"axis", int64_t{1}}, {"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
       .symbols = {{"n", 0}}},
      {.input_types = {Type::tensor({3, 40}, DType::f16)},
       .attrs = {{"axis", int64_t{1}}},
       .tolerance = 2e-2},
  };
}

}  // namespace symtile
