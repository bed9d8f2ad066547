// Random formulas for the tests of shape/, kept as plain trees that evaluate without DimExpr.
//
// The tree is the oracle: its evaluation follows the definition of every operation and shares no
// code with the canonical form under test.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "symtile/shape/dim_expr.h"

namespace symtile {

struct RawExpr {
  enum class Op { number, symbol, add, sub, mul, div, mod, min, max };
  Op op = Op::number;
  int64_t value = 0;
  std::string name;
  std::shared_ptr<const RawExpr> a, b;
};
using Raw = std::shared_ptr<const RawExpr>;

inline Raw raw_number(int64_t v) {
  return std::make_shared<RawExpr>(RawExpr{RawExpr::Op::number, v, {}, nullptr, nullptr});
}
inline Raw raw_symbol(std::string name) {
  return std::make_shared<RawExpr>(
      RawExpr{RawExpr::Op::symbol, 0, std::move(name), nullptr, nullptr});
}
inline Raw raw_binary(RawExpr::Op op, Raw a, Raw b) {
  return std::make_shared<RawExpr>(RawExpr{op, 0, {}, std::move(a), std::move(b)});
}

/// By definition of each operation; nothing for a division by zero or huge intermediates.
inline std::optional<int64_t> raw_evaluate(const Raw& e, const DimValues& values) {
  using Op = RawExpr::Op;
  if (e->op == Op::number) return e->value;
  if (e->op == Op::symbol) return values.at(e->name);
  const auto a = raw_evaluate(e->a, values);
  const auto b = raw_evaluate(e->b, values);
  if (!a || !b) return std::nullopt;
  constexpr int64_t kHuge = int64_t{1} << 30;
  if (*a > kHuge || *a < -kHuge || *b > kHuge || *b < -kHuge) return std::nullopt;
  const auto floored = [&]() {
    int64_t q = *a / *b;
    while (q * *b > *a && *b > 0) --q;  // towards minus infinity, by definition
    while (q * *b < *a && *b < 0) --q;
    return q;
  };
  switch (e->op) {
    case Op::add:
      return *a + *b;
    case Op::sub:
      return *a - *b;
    case Op::mul:
      return *a * *b;
    case Op::div:
      return *b == 0 ? std::nullopt : std::optional(floored());
    case Op::mod:
      return *b == 0 ? std::nullopt : std::optional(*a - *b * floored());
    case Op::min:
      return *a < *b ? *a : *b;
    default:
      return *a > *b ? *a : *b;
  }
}

inline DimExpr raw_to_dim(const Raw& e) {
  using Op = RawExpr::Op;
  if (e->op == Op::number) return DimExpr(e->value);
  if (e->op == Op::symbol) return DimExpr::symbol(e->name);
  const DimExpr a = raw_to_dim(e->a);
  const DimExpr b = raw_to_dim(e->b);
  switch (e->op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return floordiv(a, b);
    case Op::mod:
      return floormod(a, b);
    case Op::min:
      return min(a, b);
    default:
      return max(a, b);
  }
}

inline std::string raw_text(const Raw& e) {
  using Op = RawExpr::Op;
  if (e->op == Op::number) return "(" + std::to_string(e->value) + ")";
  if (e->op == Op::symbol) return e->name;
  const std::string a = raw_text(e->a);
  const std::string b = raw_text(e->b);
  switch (e->op) {
    case Op::add:
      return "(" + a + " + " + b + ")";
    case Op::sub:
      return "(" + a + " - " + b + ")";
    case Op::mul:
      return "(" + a + " * " + b + ")";
    case Op::div:
      return "(" + a + " // " + b + ")";
    case Op::mod:
      return "(" + a + " % " + b + ")";
    case Op::min:
      return "min(" + a + ", " + b + ")";
    default:
      return "max(" + a + ", " + b + ")";
  }
}

class RandomExpr {
 public:
  struct Options {
    bool symbolic_divisors = false;
    bool negative_divisors = false;
    int max_coefficient = 9;
  };
  RandomExpr(uint64_t seed, Options options) : random_(seed), options_(options) {}

  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::string symbol() {
    static const std::array<std::string, 3> names = {"h", "n", "m"};
    return names[static_cast<size_t>(integer(0, 2))];
  }

  Raw expression(int depth) {
    if (depth == 0 || integer(0, 9) == 0) {
      return integer(0, 2) == 0
                 ? raw_number(integer(-options_.max_coefficient, options_.max_coefficient))
                 : raw_symbol(symbol());
    }
    using Op = RawExpr::Op;
    static constexpr std::array<Op, 12> kOps = {Op::add, Op::add, Op::add, Op::sub,
                                                Op::sub, Op::mul, Op::mul, Op::div,
                                                Op::div, Op::mod, Op::min, Op::max};
    const Op op = kOps[static_cast<size_t>(integer(0, kOps.size() - 1))];
    if (op == Op::div || op == Op::mod) {
      return raw_binary(op, expression(depth - 1), divisor());
    }
    if (op == Op::mul && integer(0, 1) == 0) {
      return raw_binary(op, raw_number(integer(-4, 8)), expression(depth - 1));
    }
    return raw_binary(op, expression(depth - 1), expression(depth - 1));
  }

  Raw divisor() {
    if (options_.symbolic_divisors && integer(0, 3) == 0) return raw_symbol(symbol());
    if (options_.negative_divisors && integer(0, 3) == 0) return raw_number(-integer(1, 6));
    return raw_number(integer(1, 8));
  }

 private:
  std::mt19937_64 random_;
  Options options_;
};

}  // namespace symtile
