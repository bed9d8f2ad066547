// cumsum(x; axis, exclusive, reverse): running sums along an axis; exclusive leaves out the element
// itself, reverse runs from the end (ONNX CumSum).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

bool is_number(DType t) { return t != DType::boolean; }

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_number, "a numeric type");
  if (c.rank_known(0)) c.normalize_axis(c.attrs().get_int("axis"), c.rank(0));
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
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
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t j = first; j < end; ++j) {
      const int64_t from = at + (j - i) * stride;
      if (x.is_float_kind()) {
        sum += x.as_double(from);
      } else {
        whole += static_cast<uint64_t>(x.as_int(from));
      }
    }
    if (x.is_float_kind()) {
      y.set(at, sum);
    } else {
      y.set_int(at, static_cast<int64_t>(whole));
    }
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const size_t axis = axis_attr(c.attrs(), x.rank());
  const bool exclusive = c.attrs().get_bool("exclusive", false);
  const bool reverse = c.attrs().get_bool("reverse", false);
  // 16-bit floats would lose the small addends: they are summed in f32 and rounded once.
  const bool widen = is_float(x.dtype()) && size_of(x.dtype()) == 2;
  const TensorRef sums = widen ? c.buffer("sums", DType::f32, x.dims()) : c.result();

  std::vector<Axis> axes;
  for (const DimExpr& d : x.dims()) axes.push_back(c.axis("i", d));
  const Expr last = to_expr(x.dims()[axis] - 1);
  const auto along = [&](const Expr& i) { return reverse ? last - i : i; };
  const Expr step = var(axes[axis].name);
  Index here = variables(axes), before = here;
  here[axis] = along(step);
  before[axis] = along(step - Expr(1));
  const Expr zero = imm(sums.dtype(), 0);
  const Expr sum = select(step > Expr(0), sums(before), zero);
  const Expr element = exclusive ? select(step > Expr(0), cast(sums.dtype(), x(before)), zero)
                                 : cast(sums.dtype(), x(here));
  Stmt body = store(sums.buffer.name, here, sum + element);

  // The axis runs in order inside the first other axis, which is independent.
  if (axis == 0 && axes.size() > 1) std::swap(axes[0], axes[1]);
  c.statement(loop_nest(axes, axes.size() > 1, std::move(body)));
  if (widen) c.compute(0, [&](const Index& out) { return cast(x.dtype(), sums(out)); });
}

std::vector<OpSample> samples() {
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

}  // namespace

extern const OpRecord cumsum_op;
const OpRecord cumsum_op = {
    .name = "cumsum",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer, true},
              {"exclusive", AttrSpec::Kind::integer},
              {"reverse", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
