// Scalar operators as C: operators where they mean the same, helpers of the prelude elsewhere.
#include <cmath>
#include <limits>

#include "symtile/backend/c_source/printer.h"
#include "symtile/base/check.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile::c_source {
namespace {

/// "f32" or "f64": the 16-bit formats compute in f32.
std::string float_type(DType t) { return t == DType::f64 ? "f64" : "f32"; }

std::string helper_type(DType t) {
  return is_float(t) ? float_type(t) : t == DType::boolean ? "u8" : std::string(name_of(t));
}

/// The unsigned type in which arithmetic of `t` wraps without promotion to a signed one.
std::string wrapping_type(DType t) { return size_of(t) == 8 ? "u64" : "u32"; }

int depth_of(const Value& a, const Value& b) { return std::max(a.depth, b.depth) + 1; }

Value call(const std::string& function, DType dtype, const Value& a) {
  return {fmt::format("{}_{}({})", function, helper_type(dtype), a.text), a.depth + 1};
}
Value call(const std::string& function, DType dtype, const Value& a, const Value& b) {
  return {fmt::format("{}_{}({}, {})", function, helper_type(dtype), a.text, b.text),
          depth_of(a, b)};
}
Value builtin(const char* function, const Value& a) {
  return {fmt::format("{}({})", function, a.text), a.depth + 1};
}
Value infix(const Value& a, const char* op, const Value& b) {
  return {fmt::format("({} {} {})", a.text, op, b.text), depth_of(a, b)};
}

const char* float_function(UnaryOp op) {
  switch (op) {
    case UnaryOp::abs:
      return "fabs";
    case UnaryOp::round:
      return "rint";
    default:
      return name_of(op).data();
  }
}

Value float_unary(UnaryOp op, DType dtype, const Value& a) {
  switch (op) {
    case UnaryOp::neg:
      return {fmt::format("(-{})", a.text), a.depth + 1};
    case UnaryOp::sign:
      return call("st_sign", dtype, a);
    case UnaryOp::sigmoid:
    case UnaryOp::erf:
    case UnaryOp::tanh:
      return call(fmt::format("st_{}", name_of(op)), dtype, a);
    case UnaryOp::isnan:
      return {fmt::format("(isnan({}) != 0)", a.text), a.depth + 2};
    case UnaryOp::isinf:
      return {fmt::format("(isinf({}) != 0)", a.text), a.depth + 2};
    default:
      return builtin(float_function(op), a);
  }
}

Value float_binary(BinaryOp op, DType dtype, const Value& a, const Value& b) {
  switch (op) {
    case BinaryOp::add:
      return infix(a, "+", b);
    case BinaryOp::sub:
      return infix(a, "-", b);
    case BinaryOp::mul:
      return infix(a, "*", b);
    case BinaryOp::div:
      return infix(a, "/", b);
    case BinaryOp::floordiv:
      return builtin("floor", infix(a, "/", b));
    case BinaryOp::floormod:
      return call("st_floormod", dtype, a, b);
    case BinaryOp::fmod:
      return {fmt::format("fmod({}, {})", a.text, b.text), depth_of(a, b)};
    case BinaryOp::pow:
      return {fmt::format("pow({}, {})", a.text, b.text), depth_of(a, b)};
    case BinaryOp::min:
      return call("st_min", dtype, a, b);
    case BinaryOp::max:
      return call("st_max", dtype, a, b);
    default:
      SYMTILE_UNREACHABLE("'{}' of {}", name_of(op), name_of(dtype));
  }
}

const char* comparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::eq:
      return "==";
    case BinaryOp::ne:
      return "!=";
    case BinaryOp::lt:
      return "<";
    case BinaryOp::le:
      return "<=";
    case BinaryOp::gt:
      return ">";
    default:
      return ">=";
  }
}

/// Wraps at the width of `dtype`; operands are not promoted to a type that could overflow.
Value wrapping(DType dtype, const Value& a, const char* op, const Value& b) {
  const std::string wide = wrapping_type(dtype);
  return {fmt::format("(({})(({}){} {} ({}){}))", name_of(dtype), wide, a.text, op, wide, b.text),
          depth_of(a, b) + 1};
}

/// Bits of values of at most 32 bits are promoted to i32 and fit again.
Value bitwise(DType dtype, const Value& a, const char* op, const Value& b) {
  if (dtype == DType::boolean) {
    return {fmt::format("(({} {} {}) != 0)", a.text, op, b.text), depth_of(a, b) + 1};
  }
  return {fmt::format("(({})({} {} {}))", name_of(dtype), a.text, op, b.text), depth_of(a, b) + 1};
}

Value int_binary(BinaryOp op, DType dtype, const Value& a, const Value& b) {
  switch (op) {
    case BinaryOp::add:
      return wrapping(dtype, a, "+", b);
    case BinaryOp::sub:
      return wrapping(dtype, a, "-", b);
    case BinaryOp::mul:
      return wrapping(dtype, a, "*", b);
    case BinaryOp::logical_and:
      return infix(a, "&&", b);
    case BinaryOp::logical_or:
      return infix(a, "||", b);
    case BinaryOp::logical_xor:
      return infix(a, "!=", b);
    case BinaryOp::bit_and:
      return bitwise(dtype, a, "&", b);
    case BinaryOp::bit_or:
      return bitwise(dtype, a, "|", b);
    case BinaryOp::bit_xor:
      return bitwise(dtype, a, "^", b);
    default:
      return call(fmt::format("st_{}", name_of(op)), dtype, a, b);
  }
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

int log2_of(int64_t n) {
  int out = 0;
  while (n >>= 1) ++out;
  return out;
}

Value index_result(Value v, bool non_negative) {
  v.index = true;
  v.non_negative = non_negative;
  return v;
}

/// The value of two literals, which C would compute in 32 bits.
std::optional<int64_t> fold(BinaryOp op, const Value& a, const Value& b) {
  if (!a.constant || !b.constant) return std::nullopt;
  return eval_binary_int(op, DType::i64, *a.constant, *b.constant);
}

/// i64 arithmetic over loop variables and symbols: it never overflows.
std::optional<Value> index_binary(BinaryOp op, const Value& a, const Value& b) {
  const bool both = a.non_negative && b.non_negative;
  if (const auto folded = fold(op, a, b)) return index_value(*folded);
  switch (op) {
    case BinaryOp::add:
      if (a.constant == 0) return b;
      if (b.constant == 0) return a;
      if (b.constant && *b.constant < 0 && *b.constant > std::numeric_limits<int32_t>::min()) {
        return index_result(infix(a, "-", index_value(-*b.constant)), false);
      }
      return index_result(infix(a, "+", b), both);
    case BinaryOp::sub:
      if (b.constant == 0) return a;
      return index_result(infix(a, "-", b), false);
    case BinaryOp::mul:
      if (a.constant == 1) return b;
      if (b.constant == 1) return a;
      if (a.constant == 0 || b.constant == 0) return index_value(0);
      return index_result(infix(a, "*", b), both);
    case BinaryOp::min:
      return index_result(call("st_min", DType::i64, a, b), both);
    case BinaryOp::max:
      return index_result(call("st_max", DType::i64, a, b), a.non_negative || b.non_negative);
    case BinaryOp::floordiv:
    case BinaryOp::div: {
      if (b.constant == 1) return a;
      if (!b.constant || *b.constant <= 0) break;
      if (a.non_negative) return index_result(infix(a, "/", b), true);
      if (op == BinaryOp::floordiv && is_power_of_two(*b.constant)) {
        return index_result(infix(a, ">>", index_value(log2_of(*b.constant))), false);
      }
      break;
    }
    case BinaryOp::floormod:
      if (b.constant == 1) return index_value(0);
      if (!b.constant || *b.constant <= 0) break;
      if (is_power_of_two(*b.constant)) {
        return index_result(infix(a, "&", index_value(*b.constant - 1)), true);
      }
      if (a.non_negative) return index_result(infix(a, "%", b), true);
      return index_result(call("st_floormod", DType::i64, a, b), true);
    default:
      return std::nullopt;
  }
  // A divisor that may be 0 or negative.
  return index_result(call(fmt::format("st_{}", name_of(op)), DType::i64, a, b), both);
}

}  // namespace

std::string compute_type(DType dtype) {
  if (dtype == DType::boolean) return "bool";
  return is_float(dtype) ? float_type(dtype) : std::string(name_of(dtype));
}

std::string storage_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "u8";
    case DType::f16:
    case DType::bf16:
      return "u16";
    default:
      return std::string(name_of(dtype));
  }
}

Value index_value(int64_t value) {
  Value out = print_int(DType::i64, value);
  out.index = true;
  out.non_negative = value >= 0;
  out.constant = value;
  return out;
}

Value print_int(DType dtype, int64_t value) {
  if (dtype == DType::boolean) return {value ? "true" : "false"};
  if (is_unsigned_int(dtype)) {
    const auto bits = static_cast<uint64_t>(value);
    return {fmt::format("{}{}", bits, dtype == DType::u64 ? "ul" : "u")};
  }
  const char* suffix = dtype == DType::i64 ? "l" : "";
  const bool lowest = value == std::numeric_limits<int64_t>::min() ||
                      (dtype == DType::i32 && value == std::numeric_limits<int32_t>::min());
  if (lowest) return {fmt::format("({}{} - 1)", value + 1, suffix), 1};
  if (dtype == DType::i64 && value > -1000000000 && value < 1000000000) suffix = "";
  if (value < 0) return {fmt::format("({}{})", value, suffix), 1};
  return {fmt::format("{}{}", value, suffix)};
}

Value print_float(DType dtype, double value) {
  const std::string type = float_type(dtype);
  if (std::isnan(value)) return {fmt::format("(({})NAN)", type), 1};
  if (std::isinf(value)) {
    return {fmt::format("(({}){}INFINITY)", type, value < 0 ? "-" : ""), 1};
  }
  std::string text =
      dtype == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (dtype != DType::f64) text += "f";
  if (std::signbit(value)) return {"(" + text + ")", 1};
  return {text};
}

Value print_unary(UnaryOp op, DType dtype, const Value& a) {
  if (is_float(dtype)) return float_unary(op, dtype, a);
  switch (op) {
    case UnaryOp::neg:
      if (a.index) return index_result({fmt::format("(-{})", a.text), a.depth + 1}, false);
      return call("st_neg", dtype, a);
    case UnaryOp::abs:
    case UnaryOp::sign:
      return call(fmt::format("st_{}", name_of(op)), dtype, a);
    case UnaryOp::bit_not:
      if (dtype == DType::boolean) return {fmt::format("(!{})", a.text), a.depth + 1};
      return {fmt::format("(({})~{})", name_of(dtype), a.text), a.depth + 1};
    case UnaryOp::logical_not:
      return {fmt::format("(!{})", a.text), a.depth + 1};
    case UnaryOp::isnan:
    case UnaryOp::isinf:
      return {"false"};
    default:
      return a;  // floor, ceil, round, trunc
  }
}

Value print_binary(BinaryOp op, DType dtype, const Value& a, const Value& b) {
  if (is_comparison(op)) return infix(a, comparison(op), b);
  if (is_float(dtype)) return float_binary(op, dtype, a, b);
  if (dtype == DType::i64 && a.index && b.index) {
    if (auto out = index_binary(op, a, b)) return *out;
  }
  return int_binary(op, dtype, a, b);
}

Value print_cast(DType to, DType from, const Value& a) {
  if (to == from) return a;
  const bool is_half = to == DType::f16 || to == DType::bf16;
  if (to == DType::boolean) return {fmt::format("({} != 0)", a.text), a.depth + 1};
  if (is_float(from)) {
    if (is_half) {
      // Values of f16 fit into f32, those of the same format are rounded already.
      const std::string narrow =
          from == DType::f64 ? fmt::format("st_odd_f32_of_f64({})", a.text) : a.text;
      return {fmt::format("st_round_{}({})", name_of(to), narrow), a.depth + 2};
    }
    if (is_float(to)) {
      if (float_type(to) == float_type(from)) return a;
      return {fmt::format("(({}){})", float_type(to), a.text), a.depth + 1};
    }
    return {fmt::format("st_{}_of_{}({})", name_of(to), float_type(from), a.text), a.depth + 1};
  }
  if (is_half) {
    // Integers that f32 cannot hold are infinite in f16, but not in bf16.
    const bool exact = size_of(from) <= 2 || to == DType::f16;
    const std::string wide = is_unsigned_int(from) ? "u64" : "i64";
    const std::string real =
        exact ? fmt::format("(f32){}", a.text) : fmt::format("st_odd_f32_of_{}({})", wide, a.text);
    return {fmt::format("st_round_{}({})", name_of(to), real), a.depth + 2};
  }
  if (is_float(to)) return {fmt::format("(({}){})", float_type(to), a.text), a.depth + 1};
  Value out{fmt::format("(({}){})", name_of(to), a.text), a.depth + 1};
  return out;
}

}  // namespace symtile::c_source
