// x to the power y with numpy broadcasting: ONNX Pow-15. The result has the dtype of x whatever
// that of y: an integer base with a real exponent is computed in f64 and truncated.
#include <cmath>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_number, "a float or integer type");
  c.require_dtype(1, is_number, "a float or integer type");
  const std::optional<Dims> dims = broadcast_args(c);
  return {dims ? Type::tensor(*dims, c.dtype(0)) : Type::tensor_any_rank(c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const RefTensor& y = c.in(1);
  RefTensor& out = c.out(x.dtype, broadcast_extents(x.dims, y.dims));
  int64_t at = 0;
  for_each_index(out.dims, [&](const std::vector<int64_t>& index) {
    const int64_t i = broadcast_offset(x.dims, index), j = broadcast_offset(y.dims, index);
    if (x.is_float_kind() || y.is_float_kind()) {
      const double value = std::pow(x.as_double(i), y.as_double(j));
      if (x.is_float_kind()) {
        out.set(at++, value);
      } else {
        out.set_int(at++, cast_float_to_int(x.dtype, value));
      }
    } else {
      const DType dtype = x.dtype == y.dtype ? x.dtype : DType::i64;
      out.set_int(at++, eval_binary_int(BinaryOp::pow, dtype, x.as_int(i), y.as_int(j)));
    }
  });
}

/// Small whole exponents of a float are products; pow is many times slower.
std::optional<Expr> special_power(const Expr& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == 0.5) {
    // pow(-0, 1/2) is 0 and pow(-inf, 1/2) is inf, unlike the square root.
    const Expr root = unary(UnaryOp::sqrt, x + imm_like(x, 0));
    return select(equal(x, imm_like(x, -HUGE_VAL)), imm_like(x, HUGE_VAL), root);
  }
  if (exponent == -1) return imm_like(x, 1) / x;
  return std::nullopt;
}

void lower(LowerContext& c) {
  const DType base = c.in(0).dtype(), exponent = c.in(1).dtype();
  DType compute = compute_dtype(base);
  if (is_int(base) && is_float(exponent)) compute = DType::f64;
  if (is_int(base) && is_int(exponent) && base != exponent) compute = DType::i64;
  const Constant known = c.constant(1);
  lower_binary(c, [&](Expr x, Expr y) {
    x = cast(compute, x);
    if (is_float(base) && known != nullptr && known->element_count() == 1) {
      if (auto e = special_power(x, known->as_double(0))) return *e;
    }
    return binary(BinaryOp::pow, x, cast(compute, y));
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out = binary_samples(DType::f32, 0.1, 3);
  for (OpSample& s : binary_samples(DType::i32, -4, 4)) out.push_back(std::move(s));
  OpSample mixed;
  mixed.input_types = {Type::tensor({4, DimExpr::symbol("n")}, DType::f32),
                       Type::tensor({4, 1}, DType::i64)};
  mixed.symbols = {{"n", 5}};
  out.push_back(mixed);
  mixed.input_types = {Type::tensor({4}, DType::i32), Type::tensor({4}, DType::f32)};
  mixed.low = 1, mixed.high = 5;
  out.push_back(mixed);
  for (double e : {2.0, 3.0, 0.5, -1.0}) {
    OpSample s;
    s.input_types = {Type::tensor({8}, DType::f32), Type::tensor({}, DType::f32)};
    s.constants[0] = special_values();
    s.constants[1] = make_scalar(DType::f32, e);
    out.push_back(std::move(s));
  }
  return out;
}
}  // namespace

extern const OpRecord pow_op;
const OpRecord pow_op = {
    .name = "pow",
    .min_args = 2,
    .max_args = 2,
    .attrs = {},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return samples(); },
};

}  // namespace symtile
