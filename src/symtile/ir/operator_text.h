// Infix operators of the expression text: spelling and precedence, for printer and parser alike.
#pragma once

#include <array>
#include <string_view>

#include "symtile/ir/expr.h"

namespace symtile {

struct InfixOperator {
  BinaryOp op;
  std::string_view text;
  int level;  ///< higher binds tighter
};

inline constexpr int kReduceLevel = 0;
inline constexpr int kComparisonLevel = 3;  ///< not associative
inline constexpr int kUnaryLevel = 6;

/// Longer spellings first, so that the first match is the right one. Every other operator is
/// written as a call: min(a, b), shl(a, b), exp(a).
inline constexpr auto kInfixOperators = std::to_array<InfixOperator>({
    {BinaryOp::logical_or, "||", 1},
    {BinaryOp::logical_and, "&&", 2},
    {BinaryOp::eq, "==", kComparisonLevel},
    {BinaryOp::ne, "!=", kComparisonLevel},
    {BinaryOp::le, "<=", kComparisonLevel},
    {BinaryOp::ge, ">=", kComparisonLevel},
    {BinaryOp::lt, "<", kComparisonLevel},
    {BinaryOp::gt, ">", kComparisonLevel},
    {BinaryOp::add, "+", 4},
    {BinaryOp::sub, "-", 4},
    {BinaryOp::floordiv, "//", 5},
    {BinaryOp::mul, "*", 5},
    {BinaryOp::div, "/", 5},
    {BinaryOp::floormod, "%", 5},
});

constexpr const InfixOperator* infix_of(BinaryOp op) {
  for (const InfixOperator& i : kInfixOperators) {
    if (i.op == op) return &i;
  }
  return nullptr;
}

}  // namespace symtile
