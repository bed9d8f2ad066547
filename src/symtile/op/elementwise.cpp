#include "symtile/op/elementwise.h"

#include <limits>

#include "symtile/ir/scalar_eval.h"

namespace symtile {

bool is_number(DType t) { return t != DType::boolean; }
bool is_bool(DType t) { return t == DType::boolean; }
bool is_int_or_bool(DType t) { return !is_float(t); }
bool is_float_dtype(DType t) { return is_float(t); }

std::vector<Type> deduce_same_as_first(DeduceContext& c) { return {c.arg(0)}; }

std::vector<Type> deduce_float_unary(DeduceContext& c) {
  c.require_dtype(0, is_float_dtype, "a float type");
  return {c.arg(0)};
}

std::vector<Type> deduce_number_unary(DeduceContext& c) {
  c.require_dtype(0, is_number, "a float or integer type");
  return {c.arg(0)};
}

std::vector<Type> deduce_broadcast(DeduceContext& c) {
  for (int i = 1; i < c.num_args(); ++i) c.require_same_dtype(0, i);
  const std::optional<Dims> dims = broadcast_args(c);
  return {dims ? Type::tensor(*dims, c.dtype(0)) : Type::tensor_any_rank(c.dtype(0))};
}

std::vector<Type> deduce_arithmetic(DeduceContext& c) {
  c.require_dtype(0, is_number, "a float or integer type");
  return deduce_broadcast(c);
}

std::vector<Type> deduce_bitwise(DeduceContext& c) {
  c.require_dtype(0, is_int, "an integer type");
  return deduce_broadcast(c);
}

std::vector<Type> deduce_logical(DeduceContext& c) {
  c.require_dtype(0, is_bool, "type bool");
  return deduce_broadcast(c);
}

std::vector<Type> deduce_compare(DeduceContext& c) {
  std::vector<Type> types = deduce_broadcast(c);
  types[0].dtype = DType::boolean;
  return types;
}

void evaluate_unary(EvalContext& c, const std::function<double(double)>& f,
                    const std::function<int64_t(int64_t)>& g) {
  const RefTensor& x = c.in(0);
  RefTensor& out = c.out(x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.is_float_kind()) {
      out.f[static_cast<size_t>(i)] = f(x.f[static_cast<size_t>(i)]);
    } else {
      SYMTILE_CHECK(g, "operator '{}' of {}", c.call.op, name_of(x.dtype));
      out.set_int(i, g(x.i[static_cast<size_t>(i)]));
    }
  }
}

void evaluate_unary_op(EvalContext& c, UnaryOp op) {
  const RefTensor& x = c.in(0);
  const bool test = op == UnaryOp::isnan || op == UnaryOp::isinf;
  RefTensor& out = c.out(test ? DType::boolean : x.dtype, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.is_float_kind()) {
      out.set(i, eval_unary(op, x.f[static_cast<size_t>(i)]));
    } else {
      out.set_int(i, eval_unary_int(op, x.dtype, x.i[static_cast<size_t>(i)]));
    }
  }
}

void evaluate_binary_op(EvalContext& c, BinaryOp op) {
  const RefTensor& x = c.in(0);
  const RefTensor& y = c.in(1);
  RefTensor& out =
      c.out(is_comparison(op) ? DType::boolean : x.dtype, broadcast_extents(x.dims, y.dims));
  int64_t at = 0;
  for_each_index(out.dims, [&](const std::vector<int64_t>& index) {
    const auto i = static_cast<size_t>(broadcast_offset(x.dims, index));
    const auto j = static_cast<size_t>(broadcast_offset(y.dims, index));
    if (x.is_float_kind()) {
      out.set(at++, eval_binary(op, x.f[i], y.f[j]));
    } else {
      out.set_int(at++, eval_binary_int(op, x.dtype, x.i[i], y.i[j]));
    }
  });
}

DType compute_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

Expr widen(Expr e) {
  const DType dtype = compute_dtype(e.dtype());
  return cast(dtype, std::move(e));
}

Expr imm_like(const Expr& e, double value) { return imm(e.dtype(), value); }

Expr operand(const LowerContext& c, int i, const Index& index) {
  const Constant known = c.constant(i);
  const TensorRef x = c.in(i);
  if (known != nullptr && known->element_count() == 1) {
    // Folded by the maker: the cast of an immediate is an immediate.
    return widen(is_float(x.dtype()) ? float_imm(x.dtype(), known->as_double(0))
                                     : int_imm(x.dtype(), known->as_int(0)));
  }
  return widen(c.load_broadcast(x, index, c.out_dims()));
}

void lower_unary(LowerContext& c, const std::function<Expr(Expr)>& value) {
  const TensorRef x = c.in(0);
  c.compute(0, [&](const Index& i) { return value(widen(x(i))); });
}

void lower_binary(LowerContext& c, const std::function<Expr(Expr, Expr)>& value) {
  c.compute(0, [&](const Index& i) { return value(operand(c, 0, i), operand(c, 1, i)); });
}

void lower_unary_op(LowerContext& c, UnaryOp op) {
  lower_unary(c, [op](Expr x) { return unary(op, std::move(x)); });
}

void lower_binary_op(LowerContext& c, BinaryOp op) {
  lower_binary(c, [op](Expr x, Expr y) { return binary(op, std::move(x), std::move(y)); });
}

double sample_tolerance(DType dtype) {
  if (dtype == DType::f16) return 4e-3;
  return dtype == DType::bf16 ? 3e-2 : 1e-5;
}

Constant special_values() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double values[] = {
      std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0.0, -0.0, 1.0, -1.0, 0.5};
  auto out = make_zeros(DType::f32, {8});
  for (int64_t i = 0; i < 8; ++i) out->set(i, values[i]);
  return out;
}

namespace {
void finish_samples(std::vector<OpSample>& samples, DType dtype, double low, double high,
                    const Attributes& attrs) {
  for (OpSample& s : samples) {
    s.attrs = attrs;
    s.low = low;
    s.high = high;
    s.tolerance = sample_tolerance(dtype);
  }
}

template <typename F>
std::vector<OpSample> for_dtypes(const std::vector<DType>& dtypes, F&& make) {
  std::vector<OpSample> out;
  for (DType t : dtypes) {
    for (OpSample& s : make(t)) out.push_back(std::move(s));
  }
  return out;
}
}  // namespace

std::vector<OpSample> unary_samples(DType dtype, double low, double high, Attributes attrs) {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out(4);
  out[0].input_types = {Type::tensor({3, 17}, dtype)};
  out[1].input_types = {Type::tensor({n, 2 * m + 1}, dtype)};
  out[1].symbols = {{"n", 5}, {"m", 20}};
  out[2].input_types = {Type::tensor({n, 3}, dtype)};
  out[2].symbols = {{"n", 0}};
  out[3].input_types = {Type::tensor({}, dtype)};
  if (dtype == DType::f32) {
    out.emplace_back();
    out[4].input_types = {Type::tensor({8}, dtype)};
    out[4].constants[0] = special_values();
  }
  finish_samples(out, dtype, low, high, attrs);
  return out;
}

std::vector<OpSample> binary_samples(DType dtype, double low, double high, Attributes attrs) {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out(5);
  out[0].input_types = {Type::tensor({3, 17}, dtype), Type::tensor({3, 17}, dtype)};
  out[1].input_types = {Type::tensor({n, 1, m}, dtype), Type::tensor({7, 1}, dtype)};
  out[1].symbols = {{"n", 2}, {"m", 19}};
  // Which of n and m is 1 is known at run time only.
  out[2].input_types = {Type::tensor({n, 4}, dtype), Type::tensor({m, 4}, dtype)};
  out[2].symbols = {{"n", 6}, {"m", 1}};
  out[3].input_types = {Type::tensor({0, 3}, dtype), Type::tensor({1, 3}, dtype)};
  out[4].input_types = {Type::tensor({n}, dtype), Type::tensor({}, dtype)};
  out[4].symbols = {{"n", 33}};
  if (dtype == DType::f32) {
    out.emplace_back();
    out[5].input_types = {Type::tensor({8, 1}, dtype), Type::tensor({8}, dtype)};
    auto column = std::make_shared<ConstantData>(*special_values());
    column->dims = {8, 1};
    out[5].constants[0] = std::move(column);
    out[5].constants[1] = special_values();
  }
  finish_samples(out, dtype, low, high, attrs);
  return out;
}

std::vector<OpSample> unary_samples_of(const std::vector<DType>& dtypes, double low, double high,
                                       const Attributes& attrs) {
  return for_dtypes(dtypes, [&](DType t) { return unary_samples(t, low, high, attrs); });
}

std::vector<OpSample> binary_samples_of(const std::vector<DType>& dtypes, double low, double high,
                                        const Attributes& attrs) {
  return for_dtypes(dtypes, [&](DType t) { return binary_samples(t, low, high, attrs); });
}

}  // namespace symtile
