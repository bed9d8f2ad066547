// lp_pool: p-norm of each window, (sum |x|^p)^(1/p); padding contributes zero.
// Spec: ONNX LpPool.
#include <cmath>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/pool.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float, "a float type");
  if (c.attrs().get_int("p", 2) < 1) c.fail(DiagId::bad_attribute, "p must be at least 1");
  return {Type::tensor(*deduce_pool_dims(c), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const ConcreteWindow window = pool_window(c);
  const auto p = static_cast<double>(c.attrs().get_int("p", 2));
  const std::vector<int64_t> dims = pool_extents(c, window);
  RefTensor& out = c.out(c.in(0).dtype, dims);
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    double sum = 0;
    for_each_pool_tap(c, index, window, [&](int64_t flat, const std::vector<int64_t>&) {
      if (flat >= 0) sum += std::pow(std::abs(c.in(0).as_double(flat)), p);
    });
    out.set(at++, std::pow(sum, 1 / p));
  });
}

void lower(LowerContext& c) {
  const DType acc = accumulation_type(c.out_dtype());
  const int64_t p = c.attrs().get_int("p", 2);
  c.compute(0, [&](const Index& index) {
    const Expr sum = pool_reduce(c, ReduceKind::sum, index, [&](const Index& at, const Expr& ok) {
      const Expr x = cast(acc, c.in(0)(at));
      Expr power = p == 2 ? x * x : unary(UnaryOp::abs, x);
      if (p > 2) power = binary(BinaryOp::pow, power, imm(acc, static_cast<double>(p)));
      return guarded(ok, power, imm(acc, 0));
    });
    Expr root = sum;
    if (p == 2) root = unary(UnaryOp::sqrt, sum);
    if (p > 2) root = binary(BinaryOp::pow, sum, imm(acc, 1 / static_cast<double>(p)));
    return cast(c.out_dtype(), root);
  });
}

std::vector<OpSample> samples() {
  const std::vector<int64_t> two = {2, 2}, three = {3, 3};
  return {
      make_sample({f32_tensor({1, 2, 6, 7})}, {{"kernel", two}, {"strides", two}}),
      make_sample({f32_tensor({sym("b"), 3, sym("h"), 5})},
                  {{"kernel", three}, {"pads", Dims{1, 1, 1, 1}}, {"p", int64_t{3}}},
                  {{"b", 2}, {"h", 8}}),
      make_sample({f32_tensor({1, 2, sym("h")})},
                  {{"kernel", std::vector<int64_t>{3}},
                   {"strides", std::vector<int64_t>{2}},
                   {"ceil_mode", int64_t{1}},
                   {"p", int64_t{1}}},
                  {{"h", 6}}),
  };
}

}  // namespace

extern const OpRecord lp_pool_op;
const OpRecord lp_pool_op = {
    "lp_pool", 1,        1,     pool_attrs({{"p", AttrSpec::Kind::integer}}),
    deduce,    evaluate, lower, samples};

}  // namespace symtile
