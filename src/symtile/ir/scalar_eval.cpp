#include "symtile/ir/scalar_eval.h"

#include <bit>
#include <cmath>
#include <limits>

#include "symtile/base/check.h"
#include "symtile/base/half.h"

namespace symtile {
namespace {

int width_of(DType dtype) {
  return dtype == DType::boolean ? 1 : static_cast<int>(8 * size_of(dtype));
}

int64_t lowest_of(DType dtype) {
  if (!is_signed_int(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - width_of(dtype));
}

/// The largest value, as a bit pattern for u64.
int64_t highest_of(DType dtype) {
  if (dtype == DType::u64) return -1;
  if (is_signed_int(dtype)) return std::numeric_limits<int64_t>::max() >> (64 - width_of(dtype));
  return (int64_t{1} << width_of(dtype)) - 1;
}

/// Rounds to f32 so that a second rounding to a shorter format is exact: an inexact result
/// gets an odd last bit ("round to odd").
float round_to_odd(double value) {
  const float f = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(f) == value) return f;
  if (std::isinf(f)) return std::copysign(std::numeric_limits<float>::max(), f);
  const auto bits = std::bit_cast<uint32_t>(f);
  if (bits & 1u) return f;
  // The even neighbour was chosen; the odd one lies on the other side of `value`.
  const bool went_up = std::fabs(static_cast<double>(f)) > std::fabs(value);
  return std::bit_cast<float>(went_up ? bits - 1 : bits + 1);
}

double unsigned_to_double(int64_t bits) { return static_cast<double>(static_cast<uint64_t>(bits)); }

int64_t power_int(DType dtype, int64_t base, int64_t exponent) {
  if (is_signed_int(dtype) && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (auto n = static_cast<uint64_t>(exponent); n != 0; n >>= 1) {
    if (n & 1u) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

enum class Rounding { truncate, floor };

struct QuotientAndRest {
  int64_t quotient, rest;
};

/// Division by zero gives 0 and 0; the smallest value over -1 wraps to itself.
QuotientAndRest divide(DType dtype, int64_t a, int64_t b, Rounding rounding) {
  if (b == 0) return {0, 0};
  if (dtype == DType::u64) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return {static_cast<int64_t>(x / y), static_cast<int64_t>(x % y)};
  }
  if (b == -1) return {static_cast<int64_t>(0 - static_cast<uint64_t>(a)), 0};
  QuotientAndRest r{a / b, a % b};
  if (rounding == Rounding::floor && r.rest != 0 && (r.rest < 0) != (b < 0)) {
    r.quotient -= 1;
    r.rest += b;
  }
  return r;
}

int64_t shift_left(DType dtype, int64_t a, int64_t b) {
  if (static_cast<uint64_t>(b) >= static_cast<uint64_t>(width_of(dtype))) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}

int64_t shift_right(DType dtype, int64_t a, int64_t b) {
  const bool too_far = static_cast<uint64_t>(b) >= static_cast<uint64_t>(width_of(dtype));
  if (is_signed_int(dtype)) return a >> (too_far ? 63 : b);
  return too_far ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
}

template <typename T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    case BinaryOp::ge:
      return a >= b;
    default:
      SYMTILE_UNREACHABLE("'{}' is not a comparison", name_of(op));
  }
}

double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

}  // namespace

int64_t wrap_to(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::boolean:
      return value != 0;
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::i16:
      return static_cast<int16_t>(value);
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::u16:
      return static_cast<uint16_t>(value);
    case DType::u32:
      return static_cast<uint32_t>(value);
    case DType::i64:
    case DType::u64:
      return value;
    default:
      SYMTILE_UNREACHABLE("wrap_to {}", name_of(dtype));
  }
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f64:
      return value;
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::f16:
      return half_to_float(float_to_half(round_to_odd(value)));
    case DType::bf16:
      // The largest f32 is odd but rounds up to infinity in bf16, as it must.
      return bfloat_to_float(float_to_bfloat(round_to_odd(value)));
    default:
      SYMTILE_UNREACHABLE("round_to {}", name_of(dtype));
  }
}

double eval_unary(UnaryOp op, double a) {
  switch (op) {
    case UnaryOp::neg:
      return -a;
    case UnaryOp::abs:
      return std::fabs(a);
    case UnaryOp::sign:
      return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0));
    case UnaryOp::floor:
      return std::floor(a);
    case UnaryOp::ceil:
      return std::ceil(a);
    case UnaryOp::round:
      return std::nearbyint(a);
    case UnaryOp::trunc:
      return std::trunc(a);
    case UnaryOp::sqrt:
      return std::sqrt(a);
    case UnaryOp::exp:
      return std::exp(a);
    case UnaryOp::expm1:
      return std::expm1(a);
    case UnaryOp::log:
      return std::log(a);
    case UnaryOp::log1p:
      return std::log1p(a);
    case UnaryOp::sin:
      return std::sin(a);
    case UnaryOp::cos:
      return std::cos(a);
    case UnaryOp::tan:
      return std::tan(a);
    case UnaryOp::asin:
      return std::asin(a);
    case UnaryOp::acos:
      return std::acos(a);
    case UnaryOp::atan:
      return std::atan(a);
    case UnaryOp::sinh:
      return std::sinh(a);
    case UnaryOp::cosh:
      return std::cosh(a);
    case UnaryOp::tanh:
      return std::tanh(a);
    case UnaryOp::asinh:
      return std::asinh(a);
    case UnaryOp::acosh:
      return std::acosh(a);
    case UnaryOp::atanh:
      return std::atanh(a);
    case UnaryOp::erf:
      return std::erf(a);
    case UnaryOp::sigmoid:
      return sigmoid(a);
    case UnaryOp::isnan:
      return std::isnan(a);
    case UnaryOp::isinf:
      return std::isinf(a);
    case UnaryOp::bit_not:
    case UnaryOp::logical_not:
      break;
  }
  SYMTILE_UNREACHABLE("'{}' of a float", name_of(op));
}

int64_t eval_unary_int(UnaryOp op, DType dtype, int64_t a) {
  switch (op) {
    case UnaryOp::neg:
      return wrap_to(dtype, static_cast<int64_t>(0 - static_cast<uint64_t>(a)));
    case UnaryOp::abs:
      if (!is_signed_int(dtype) || a >= 0) return a;
      return wrap_to(dtype, static_cast<int64_t>(0 - static_cast<uint64_t>(a)));
    case UnaryOp::sign:
      if (!is_signed_int(dtype)) return a != 0;
      return (a > 0) - (a < 0);
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return a;
    case UnaryOp::bit_not:
      return dtype == DType::boolean ? !a : wrap_to(dtype, ~a);
    case UnaryOp::logical_not:
      return !a;
    case UnaryOp::isnan:
    case UnaryOp::isinf:
      return 0;
    default:
      SYMTILE_UNREACHABLE("'{}' of {}", name_of(op), name_of(dtype));
  }
}

bool eval_compare(BinaryOp op, double a, double b) { return compare(op, a, b); }

bool eval_compare_int(BinaryOp op, DType dtype, int64_t a, int64_t b) {
  if (dtype == DType::u64) {
    return compare(op, static_cast<uint64_t>(a), static_cast<uint64_t>(b));
  }
  return compare(op, a, b);
}

double eval_binary(BinaryOp op, double a, double b) {
  const bool any_nan = std::isnan(a) || std::isnan(b);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::floordiv:
      return std::floor(a / b);
    case BinaryOp::floormod:
      return floor_mod(a, b);
    case BinaryOp::fmod:
      return std::fmod(a, b);
    case BinaryOp::pow:
      return std::pow(a, b);
    case BinaryOp::min:
      return any_nan ? nan : (b < a ? b : a);
    case BinaryOp::max:
      return any_nan ? nan : (a < b ? b : a);
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return eval_compare(op, a, b);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
      break;
  }
  SYMTILE_UNREACHABLE("'{}' of floats", name_of(op));
}

int64_t eval_binary_int(BinaryOp op, DType dtype, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const auto wrap = [&](uint64_t v) { return wrap_to(dtype, static_cast<int64_t>(v)); };
  switch (op) {
    case BinaryOp::add:
      return wrap(x + y);
    case BinaryOp::sub:
      return wrap(x - y);
    case BinaryOp::mul:
      return wrap(x * y);
    case BinaryOp::div:
      return wrap_to(dtype, divide(dtype, a, b, Rounding::truncate).quotient);
    case BinaryOp::floordiv:
      return wrap_to(dtype, divide(dtype, a, b, Rounding::floor).quotient);
    case BinaryOp::floormod:
      return divide(dtype, a, b, Rounding::floor).rest;
    case BinaryOp::fmod:
      return divide(dtype, a, b, Rounding::truncate).rest;
    case BinaryOp::pow:
      return wrap_to(dtype, power_int(dtype, a, b));
    case BinaryOp::min:
      return eval_compare_int(BinaryOp::lt, dtype, b, a) ? b : a;
    case BinaryOp::max:
      return eval_compare_int(BinaryOp::lt, dtype, a, b) ? b : a;
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shl:
      return wrap_to(dtype, shift_left(dtype, a, b));
    case BinaryOp::shr:
      return shift_right(dtype, a, b);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return eval_compare_int(op, dtype, a, b);
  }
  SYMTILE_UNREACHABLE();
}

int64_t cast_float_to_int(DType to, double value) {
  SYMTILE_CHECK(!is_float(to), "{} is no integer type", name_of(to));
  if (to == DType::boolean) return value != 0;
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  const int64_t low = lowest_of(to), high = highest_of(to);
  if (to == DType::u64) {
    if (truncated <= 0) return 0;
    if (truncated >= 0x1p64) return high;
    return static_cast<int64_t>(static_cast<uint64_t>(truncated));
  }
  if (truncated <= static_cast<double>(low)) return low;
  // For i64 the double nearest to `high` is 2^63, which itself saturates.
  if (truncated >= static_cast<double>(high)) return high;
  return static_cast<int64_t>(truncated);
}

int64_t cast_int_to_int(DType to, int64_t value) { return wrap_to(to, value); }

double cast_int_to_float(DType from, DType to, int64_t value) {
  const bool is_unsigned = from == DType::u64;
  switch (to) {
    case DType::f64:
      return is_unsigned ? unsigned_to_double(value) : static_cast<double>(value);
    case DType::f32:
      return is_unsigned ? static_cast<float>(static_cast<uint64_t>(value))
                         : static_cast<float>(value);
    default:
      break;
  }
  // Clear the bits a double cannot hold and make the last kept one sticky, so that only the
  // final rounding counts.
  const bool negative = !is_unsigned && value < 0;
  auto magnitude = static_cast<uint64_t>(value);
  if (negative) magnitude = 0 - magnitude;
  if (magnitude >> 53)
    magnitude = (magnitude & ~uint64_t{0x7ff}) | ((magnitude & 0x7ff) ? 0x800u : 0u);
  const double exact = static_cast<double>(magnitude);
  return round_to(to, negative ? -exact : exact);
}

ScalarValue eval_cast(DType to, const ScalarValue& value) {
  ScalarValue out{to, 0, 0};
  if (is_float(value.dtype)) {
    if (is_float(to)) {
      out.real = round_to(to, value.real);
    } else {
      out.integer = cast_float_to_int(to, value.real);
    }
  } else if (is_float(to)) {
    out.real = cast_int_to_float(value.dtype, to, value.integer);
  } else {
    out.integer = cast_int_to_int(to, value.integer);
  }
  return out;
}

}  // namespace symtile
