// Makers of expressions: dtype checks, constant folding and trivial identities. Float identities
// are only those that hold for NaN, infinities and signed zeros.
#include <cmath>

#include "symtile/ir/expr_node.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile {
namespace {

bool is_integral(DType dtype) { return !is_float(dtype); }

bool is_immediate(const Expr& e) { return e.as<IntImm>() || e.as<FloatImm>(); }

bool is_float_value(const Expr& e, double value) {
  const FloatImm* f = e.as<FloatImm>();
  return f && f->value == value && std::signbit(f->value) == std::signbit(value);
}

ScalarValue value_of(const Expr& e) {
  if (const IntImm* i = e.as<IntImm>()) return {i->dtype, 0, i->value};
  const FloatImm* f = e.as<FloatImm>();
  return {f->dtype, f->value, 0};
}

Expr immediate_of(const ScalarValue& v) {
  return is_float(v.dtype) ? float_imm(v.dtype, v.real) : int_imm(v.dtype, v.integer);
}

/// f16 and bf16 compute in f32 (base/dtype.h).
double compute_rounded(DType dtype, double value) {
  return round_to(dtype, dtype == DType::f64 ? value : round_to(DType::f32, value));
}

Expr fold(UnaryOp op, const Expr& a) {
  const ScalarValue v = value_of(a);
  const DType out = result_dtype(op, v.dtype);
  if (!is_float(v.dtype)) return int_imm(out, eval_unary_int(op, v.dtype, v.integer));
  const double r = eval_unary(op, v.real);
  return is_float(out) ? float_imm(out, compute_rounded(out, r)) : bool_imm(r != 0);
}

Expr fold(BinaryOp op, const Expr& a, const Expr& b) {
  const ScalarValue x = value_of(a), y = value_of(b);
  const DType out = result_dtype(op, x.dtype);
  if (!is_float(x.dtype)) {
    return int_imm(out, eval_binary_int(op, x.dtype, x.integer, y.integer));
  }
  const double r = eval_binary(op, x.real, y.real);
  return is_float(out) ? float_imm(out, compute_rounded(out, r)) : bool_imm(r != 0);
}

/// a op b for integers and bools where one side is a neutral or absorbing number, or both are
/// the same variable.
std::optional<Expr> integer_identity(BinaryOp op, const Expr& a, const Expr& b) {
  const bool same = a.same_as(b) || (a.as<VarRef>() && structurally_equal(a, b));
  const bool is_bool = a.dtype() == DType::boolean;
  switch (op) {
    case BinaryOp::add:
      if (a.is_int(0)) return b;
      if (b.is_int(0)) return a;
      break;
    case BinaryOp::sub:
      if (b.is_int(0)) return a;
      if (same) return int_imm(a.dtype(), 0);
      break;
    case BinaryOp::mul:
      if (a.is_int(1)) return b;
      if (b.is_int(1)) return a;
      if (a.is_int(0) || b.is_int(0)) return int_imm(a.dtype(), 0);
      break;
    case BinaryOp::div:
    case BinaryOp::floordiv:
      if (b.is_int(1)) return a;
      if (a.is_int(0) || b.is_int(0)) return int_imm(a.dtype(), 0);
      break;
    case BinaryOp::floormod:
    case BinaryOp::fmod:
      if (b.is_int(1) || a.is_int(0) || b.is_int(0)) return int_imm(a.dtype(), 0);
      break;
    case BinaryOp::min:
    case BinaryOp::max:
      if (same) return a;
      break;
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      if (same) return a;
      if (a.is_int(0) || b.is_int(0)) return int_imm(a.dtype(), 0);
      if (is_bool && a.is_int(1)) return b;
      if (is_bool && b.is_int(1)) return a;
      break;
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      if (same || b.is_int(0)) return a;
      if (a.is_int(0)) return b;
      if (is_bool && (a.is_int(1) || b.is_int(1))) return bool_imm(true);
      break;
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      if (same) return int_imm(a.dtype(), 0);
      if (a.is_int(0)) return b;
      if (b.is_int(0)) return a;
      break;
    case BinaryOp::shl:
    case BinaryOp::shr:
      if (b.is_int(0)) return a;
      break;
    case BinaryOp::eq:
    case BinaryOp::le:
    case BinaryOp::ge:
      if (same) return bool_imm(true);
      break;
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::gt:
      if (same) return bool_imm(false);
      break;
    case BinaryOp::pow:
      if (b.is_int(1)) return a;
      break;
  }
  return std::nullopt;
}

std::optional<Expr> float_identity(BinaryOp op, const Expr& a, const Expr& b) {
  switch (op) {
    // x + 0.0 turns -0.0 into 0.0, so only -0.0 is neutral.
    case BinaryOp::add:
      if (is_float_value(a, -0.0)) return b;
      if (is_float_value(b, -0.0)) return a;
      break;
    case BinaryOp::sub:
      if (is_float_value(b, 0.0)) return a;
      break;
    case BinaryOp::mul:
      if (is_float_value(a, 1.0)) return b;
      if (is_float_value(b, 1.0)) return a;
      break;
    case BinaryOp::div:
      if (is_float_value(b, 1.0)) return a;
      break;
    default:
      break;
  }
  return std::nullopt;
}

Expr neutral(ReduceKind kind, DType dtype) {
  const bool largest = kind == ReduceKind::min;
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::any:
      return imm(dtype, 0);
    case ReduceKind::prod:
    case ReduceKind::all:
      return imm(dtype, 1);
    case ReduceKind::max:
    case ReduceKind::min:
      // Casting an infinity saturates to the lowest or highest integer.
      return imm(dtype, largest ? HUGE_VAL : -HUGE_VAL);
    default:
      break;
  }
  return {};
}

}  // namespace

std::string why_not(UnaryOp op, DType t) {
  bool ok = is_float(t);
  switch (op) {
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::sign:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      ok = t != DType::boolean;
      break;
    case UnaryOp::bit_not:
      ok = is_integral(t);
      break;
    case UnaryOp::logical_not:
      ok = t == DType::boolean;
      break;
    default:
      break;
  }
  return ok ? "" : fmt::format("'{}' does not accept {}", name_of(op), name_of(t));
}

std::string why_not(BinaryOp op, DType a, DType b) {
  if (a != b) {
    return fmt::format("the operands of '{}' are {} and {}", name_of(op), name_of(a), name_of(b));
  }
  bool ok = a != DType::boolean;
  switch (op) {
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
    case BinaryOp::logical_xor:
      ok = a == DType::boolean;
      break;
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      ok = is_integral(a);
      break;
    case BinaryOp::shl:
    case BinaryOp::shr:
      ok = is_int(a);
      break;
    default:
      ok = ok || is_comparison(op);
      break;
  }
  return ok ? "" : fmt::format("'{}' does not accept {}", name_of(op), name_of(a));
}

std::string why_not(ReduceKind kind, size_t axes, DType body) {
  bool ok = body != DType::boolean;
  if (kind == ReduceKind::any || kind == ReduceKind::all) ok = !ok;
  if (!ok) return fmt::format("'{}' does not accept {}", name_of(kind), name_of(body));
  if (axes == 0) return fmt::format("'{}' has no axes", name_of(kind));
  if (kind >= ReduceKind::argmax && axes != 1) {
    return fmt::format("'{}' takes one axis, not {}", name_of(kind), axes);
  }
  return "";
}

DType result_dtype(UnaryOp op, DType t) {
  const bool test = op == UnaryOp::isnan || op == UnaryOp::isinf;
  return test ? DType::boolean : t;
}

DType result_dtype(BinaryOp op, DType t) { return is_comparison(op) ? DType::boolean : t; }

DType result_dtype(ReduceKind kind, DType body) {
  return kind >= ReduceKind::argmax ? DType::i64 : body;
}

Expr::Expr(int64_t value)
    : node_(std::make_shared<const ExprNode>(ExprNode{IntImm{DType::i64, value}})) {}

Expr int_imm(DType dtype, int64_t value) {
  SYMTILE_CHECK(is_integral(dtype), "an integer immediate of {}", name_of(dtype));
  return make_node(IntImm{dtype, wrap_to(dtype, value)});
}

Expr float_imm(DType dtype, double value) {
  SYMTILE_CHECK(is_float(dtype), "a float immediate of {}", name_of(dtype));
  return make_node(FloatImm{dtype, round_to(dtype, value)});
}

Expr imm(DType dtype, double value) {
  if (is_float(dtype)) return float_imm(dtype, value);
  return int_imm(dtype, cast_float_to_int(dtype, value));
}

Expr bool_imm(bool value) { return int_imm(DType::boolean, value); }

Expr var(std::string name, DType dtype) { return make_node(VarRef{dtype, std::move(name)}); }

Expr load(std::string buffer, DType dtype, std::vector<Expr> indices) {
  for (const Expr& i : indices) {
    SYMTILE_CHECK(i.dtype() == DType::i64, "an index of '{}' has dtype {}", buffer,
                  name_of(i.dtype()));
  }
  return make_node(Load{dtype, std::move(buffer), std::move(indices)});
}

Expr unary(UnaryOp op, Expr a) {
  const std::string why = why_not(op, a.dtype());
  SYMTILE_CHECK(why.empty(), "{}", why);
  if (is_immediate(a)) return fold(op, a);
  const bool rounds =
      op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round || op == UnaryOp::trunc;
  if (rounds && !is_float(a.dtype())) return a;
  const bool involution =
      op == UnaryOp::neg || op == UnaryOp::logical_not || op == UnaryOp::bit_not;
  if (const UnaryExpr* inner = a.as<UnaryExpr>(); involution && inner && inner->op == op) {
    return inner->a;
  }
  return make_node(UnaryExpr{result_dtype(op, a.dtype()), op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  const std::string why = why_not(op, a.dtype(), b.dtype());
  SYMTILE_CHECK(why.empty(), "{}", why);
  if (is_immediate(a) && is_immediate(b)) return fold(op, a, b);
  auto known = is_float(a.dtype()) ? float_identity(op, a, b) : integer_identity(op, a, b);
  if (known) return *known;
  return make_node(BinaryExpr{result_dtype(op, a.dtype()), op, std::move(a), std::move(b)});
}

Expr select(Expr condition, Expr then_value, Expr else_value) {
  SYMTILE_CHECK(condition.dtype() == DType::boolean, "a select condition of {}",
                name_of(condition.dtype()));
  SYMTILE_CHECK(then_value.dtype() == else_value.dtype(), "select between {} and {}",
                name_of(then_value.dtype()), name_of(else_value.dtype()));
  if (const auto c = condition.as_int()) return *c ? then_value : else_value;
  if (then_value.same_as(else_value)) return then_value;
  const DType dtype = then_value.dtype();
  return make_node(
      SelectExpr{dtype, std::move(condition), std::move(then_value), std::move(else_value)});
}

Expr cast(DType dtype, Expr a) {
  if (a.dtype() == dtype) return a;
  if (is_immediate(a)) return immediate_of(eval_cast(dtype, value_of(a)));
  return make_node(CastExpr{dtype, std::move(a)});
}

Expr reduce(ReduceKind kind, std::vector<Axis> axes, Expr body) {
  if (axes.empty() && kind < ReduceKind::argmax) return body;
  const std::string why = why_not(kind, axes.size(), body.dtype());
  SYMTILE_CHECK(why.empty(), "{}", why);
  for (const Axis& axis : axes) {
    if (!axis.extent.is_const(0)) continue;
    if (Expr nothing = neutral(kind, body.dtype()); nothing.defined()) return nothing;
  }
  const DType dtype = result_dtype(kind, body.dtype());
  return make_node(ReduceExpr{dtype, kind, std::move(axes), std::move(body)});
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(BinaryOp::div, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return unary(UnaryOp::neg, std::move(a)); }
Expr floordiv(Expr a, Expr b) { return binary(BinaryOp::floordiv, std::move(a), std::move(b)); }
Expr floormod(Expr a, Expr b) { return binary(BinaryOp::floormod, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::max, std::move(a), std::move(b)); }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return binary(BinaryOp::gt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return binary(BinaryOp::ge, std::move(a), std::move(b)); }
Expr equal(Expr a, Expr b) { return binary(BinaryOp::eq, std::move(a), std::move(b)); }
Expr not_equal(Expr a, Expr b) { return binary(BinaryOp::ne, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) {
  return binary(BinaryOp::logical_and, std::move(a), std::move(b));
}
Expr operator||(Expr a, Expr b) { return binary(BinaryOp::logical_or, std::move(a), std::move(b)); }
Expr operator!(Expr a) { return unary(UnaryOp::logical_not, std::move(a)); }

}  // namespace symtile
