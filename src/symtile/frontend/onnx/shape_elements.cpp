// Rules of shape arithmetic for single elements.
#include <array>
#include <limits>
#include <numeric>

#include "symtile/frontend/onnx/shape_values.h"

namespace symtile::onnx_import {
namespace {

constexpr int64_t kMaxDenominator = int64_t{1} << 24;

bool is_dyadic(int64_t denominator) { return (denominator & (denominator - 1)) == 0; }

/// A float that IEEE arithmetic has without rounding; only those take part in further arithmetic.
bool exact(const KnownElement& x) { return x.is_known() && is_dyadic(x.denominator); }

/// The fraction in lowest terms with a positive denominator.
KnownElement fraction(DimExpr numerator, int64_t denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  int64_t common = denominator;
  for (const DimTerm& t : numerator.terms()) common = std::gcd(common, t.coefficient);
  if (common > 1) {
    numerator = floordiv(numerator, common);
    denominator /= common;
  }
  if (denominator > kMaxDenominator) return KnownElement::unknown();
  return {std::move(numerator), denominator};
}

KnownElement decided(bool yes, bool no) {
  if (yes) return {1};
  if (no) return {0};
  return KnownElement::unknown();
}

KnownElement whole(DimExpr value, DType t, const Facts& facts) {
  return representable({facts.simplify(value)}, t);
}

std::optional<std::pair<int64_t, int64_t>> int_range(DType t) {
  switch (t) {
    case DType::i8:
      return {{-128, 127}};
    case DType::u8:
      return {{0, 255}};
    case DType::i16:
      return {{-32768, 32767}};
    case DType::u16:
      return {{0, 65535}};
    case DType::i32:
      return {{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}};
    case DType::u32:
      return {{0, std::numeric_limits<uint32_t>::max()}};
    case DType::i64:
      return {{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}};
    case DType::u64:
      return {{0, std::numeric_limits<int64_t>::max()}};
    case DType::boolean:
      return {{0, 1}};
    default:
      return std::nullopt;
  }
}

KnownElement add(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!exact(a) || !exact(b)) return KnownElement::unknown();
  const int64_t common = std::max(a.denominator, b.denominator);  // both are powers of two
  KnownElement sum =
      fraction(a.value * (common / a.denominator) + b.value * (common / b.denominator), common);
  if (sum.is_known()) sum.value = facts.simplify(sum.value);
  return representable(sum, t);
}

KnownElement negate(const KnownElement& x, DType t, const Facts&) {
  return x.is_known() ? representable({-x.value, x.denominator}, t) : x;
}

KnownElement sub(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  return b.is_known() ? add(a, {-b.value, b.denominator}, t, facts) : b;
}

KnownElement mul(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!exact(a) || !exact(b)) return KnownElement::unknown();
  KnownElement product = fraction(a.value * b.value, a.denominator * b.denominator);
  if (product.is_known()) product.value = facts.simplify(product.value);
  return representable(product, t);
}

/// Division of integers as ONNX has it: towards zero.
DimExpr truncated_div(const DimExpr& a, const DimExpr& b, const Facts& facts) {
  if (facts.proves_le(0, a)) return floordiv(a, b);
  return floordiv(max(a, 0), b) - floordiv(max(-a, 0), b);
}

KnownElement div(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!exact(a) || !exact(b)) return KnownElement::unknown();
  if (is_float(t)) {
    const auto divisor = b.value.as_const();
    if (!divisor || *divisor == 0) return KnownElement::unknown();
    return representable(fraction(a.value * b.denominator,
                                  (DimExpr(a.denominator) * DimExpr(*divisor)).as_const().value()),
                         t);
  }
  if (const auto divisor = b.value.as_const(); divisor && *divisor < 0) {
    return negate(div(a, {-b.value}, t, facts), t, facts);
  }
  // A divisor of zero has no meaning in ONNX, so a divisor that is a dimension may be used.
  if (!facts.proves_le(0, b.value) || b.value.is_const(0)) return KnownElement::unknown();
  return whole(truncated_div(a.value, b.value, facts), t, facts);
}

KnownElement mod(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!a.is_known() || !b.is_known() || is_float(t) || !facts.proves_le(0, b.value) ||
      b.value.is_const(0)) {
    return KnownElement::unknown();
  }
  return whole(floormod(a.value, b.value), t, facts);
}

KnownElement minimum(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!a.is_known() || !b.is_known() || a.denominator != b.denominator)
    return KnownElement::unknown();
  return representable({facts.simplify(min(a.value, b.value)), a.denominator}, t);
}

KnownElement maximum(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  if (!a.is_known() || !b.is_known() || a.denominator != b.denominator)
    return KnownElement::unknown();
  return representable({facts.simplify(max(a.value, b.value)), a.denominator}, t);
}

KnownElement equal(const KnownElement& a, const KnownElement& b, DType, const Facts& facts) {
  if (!exact(a) || !exact(b)) return KnownElement::unknown();
  const DimExpr x = a.value * b.denominator, y = b.value * a.denominator;
  return decided(facts.proves_equal(x, y), facts.proves_not_equal(x, y));
}

KnownElement less(const KnownElement& a, const KnownElement& b, DType, const Facts& facts) {
  if (!exact(a) || !exact(b)) return KnownElement::unknown();
  const DimExpr x = a.value * b.denominator, y = b.value * a.denominator;
  return decided(facts.proves_lt(x, y), facts.proves_le(y, x));
}

KnownElement logical_not(const KnownElement& x, DType, const Facts&) {
  const auto value = x.as_const();
  return value ? KnownElement{*value == 0 ? 1 : 0} : KnownElement::unknown();
}

KnownElement less_equal(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  return logical_not(less(b, a, t, facts), t, facts);
}
KnownElement greater(const KnownElement& a, const KnownElement& b, DType t, const Facts& facts) {
  return less(b, a, t, facts);
}
KnownElement greater_equal(const KnownElement& a, const KnownElement& b, DType t,
                           const Facts& facts) {
  return less_equal(b, a, t, facts);
}

KnownElement logical_and(const KnownElement& a, const KnownElement& b, DType, const Facts&) {
  if (a.as_const() == 0 || b.as_const() == 0) return {0};
  return a.as_const() && b.as_const() ? KnownElement{1} : KnownElement::unknown();
}
KnownElement logical_or(const KnownElement& a, const KnownElement& b, DType, const Facts&) {
  if ((a.as_const() && a.as_const() != 0) || (b.as_const() && b.as_const() != 0)) return {1};
  return a.as_const() && b.as_const() ? KnownElement{0} : KnownElement::unknown();
}
KnownElement logical_xor(const KnownElement& a, const KnownElement& b, DType, const Facts&) {
  if (!a.as_const() || !b.as_const()) return KnownElement::unknown();
  return {(*a.as_const() != 0) != (*b.as_const() != 0) ? 1 : 0};
}

KnownElement absolute(const KnownElement& x, DType t, const Facts& facts) {
  if (!x.is_known()) return x;
  return representable({facts.simplify(max(x.value, -x.value)), x.denominator}, t);
}

KnownElement floor_of(const KnownElement& x, DType t, const Facts& facts) {
  return x.is_known() ? whole(floordiv(x.value, x.denominator), t, facts) : x;
}
KnownElement ceil_of(const KnownElement& x, DType t, const Facts& facts) {
  return x.is_known() ? whole(ceildiv(x.value, x.denominator), t, facts) : x;
}

/// To the nearest, ties to even; a formula only where no tie can occur.
KnownElement round_of(const KnownElement& x, DType t, const Facts& facts) {
  if (!x.is_known() || x.denominator == 1) return x;
  const DimExpr up = floordiv(x.value * 2 + x.denominator, x.denominator * 2);
  if (x.denominator % 2 != 0) return whole(up, t, facts);
  const auto value = x.value.as_const();
  if (!value) return KnownElement::unknown();
  const bool tie = x.denominator == 2;  // in lowest terms, so the numerator is odd
  const int64_t rounded = up.as_const().value();
  return {tie && rounded % 2 != 0 ? rounded - 1 : rounded};
}

template <typename Rule>
struct Named {
  std::string_view name;
  Rule rule;
};

constexpr auto kBinary = std::to_array<Named<ElementRule>>({
    {"Add", add},
    {"Sub", sub},
    {"Mul", mul},
    {"Div", div},
    {"Mod", mod},
    {"Min", minimum},
    {"Max", maximum},
    {"Equal", equal},
    {"Less", less},
    {"LessOrEqual", less_equal},
    {"Greater", greater},
    {"GreaterOrEqual", greater_equal},
    {"And", logical_and},
    {"Or", logical_or},
    {"Xor", logical_xor},
});

constexpr auto kUnary = std::to_array<Named<UnaryElementRule>>({
    {"Neg", negate},
    {"Abs", absolute},
    {"Floor", floor_of},
    {"Ceil", ceil_of},
    {"Round", round_of},
    {"Not", logical_not},
});

}  // namespace

ElementRule find_binary_rule(std::string_view op_type) {
  for (const auto& r : kBinary) {
    if (r.name == op_type) return r.rule;
  }
  return nullptr;
}

UnaryElementRule find_unary_rule(std::string_view op_type) {
  for (const auto& r : kUnary) {
    if (r.name == op_type) return r.rule;
  }
  return nullptr;
}

KnownElement truncated_mod(const KnownElement& a, const KnownElement& b, DType t,
                           const Facts& facts) {
  if (!a.is_known() || !b.is_known() || !facts.proves_le(0, a.value))
    return KnownElement::unknown();
  return mod(a, b, t, facts);
}

KnownElement representable(KnownElement x, DType dtype) {
  if (!x.is_known()) return x;
  const auto number = x.value.as_const();
  if (is_float(dtype)) {
    if (dtype != DType::f32 && dtype != DType::f64) return KnownElement::unknown();
    const int64_t limit = int64_t{1} << (dtype == DType::f32 ? 24 : 53);
    if (number && (*number > limit || *number < -limit)) return KnownElement::unknown();
    return x;
  }
  const auto range = int_range(dtype);
  if (number && (*number < range->first || *number > range->second)) return KnownElement::unknown();
  return x;
}

KnownElement cast_element(const KnownElement& x, DType from, DType to, const Facts& facts) {
  if (!x.is_known() || from == to) return x;
  if (to == DType::boolean) {
    return decided(facts.proves_not_equal(x.value, 0), facts.proves_equal(x.value, 0));
  }
  if (is_float(to)) return representable(x, to);
  DimExpr value = x.value;
  if (x.denominator != 1) value = facts.simplify(truncated_div(value, x.denominator, facts));
  // Wrapping has no formula. Dimensions fit 32 bits in any model that stores them so; anything
  // narrower needs a proof.
  const auto range = int_range(to);
  if (range->first == 0 && !facts.proves_le(0, value)) return KnownElement::unknown();
  if (size_of(to) < 4 &&
      !(facts.proves_le(range->first, value) && facts.proves_le(value, range->second))) {
    return KnownElement::unknown();
  }
  return representable({std::move(value)}, to);
}

}  // namespace symtile::onnx_import
