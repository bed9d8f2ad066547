// Products of 8-bit numbers, several of them in one i32: what CPUs multiply and add at a time.
//
// Along the first reduction axis that is no tap of a window, `group` numbers make one word:
//   2: two i16, zero points taken off (every CPU);
//   4: four bytes, one operand unsigned and the other signed (CPUs with such dot products). Signs
//      are flipped where they do not fit, and zero points stay in: with z the zero points
//        sum (a - za)(b - zb) = sum a*b - za * sum b - zb * sum a + K * za * zb, modulo 2^32.
// The contraction of numbers becomes one of words, and the template sees nothing else.
#pragma once

#include <optional>

#include "symtile/schedule/cpu/loops.h"

namespace symtile {

struct Words {
  int64_t group = 2;
  std::vector<Axis> k;  ///< the reduction axes, the first one counted in words
  Expr row, col;        ///< the operands' words, i32, over the output axes and k
  bool col_unsigned = false;
  bool col_in_panels = false;  ///< `col` is a load from a constant packed in panels
  Expr row_zero, col_zero;     ///< zero points of the bytes, i32; undefined: 0
  DimExpr elements;            ///< of the whole reduction
};

/// nullopt when the operands (over flat loads) are no 8-bit numbers. `dot`: the CPU has products of
/// four bytes. Adds the facts of the new axis.
std::optional<Words> count_in_words(const Contraction& c, const Expr& row, const Expr& col,
                                    bool dot, Facts& facts, NameSource& names);

/// The sum of the products of two words.
Expr word_product(const Words& w, const Expr& row, const Expr& col);
/// Four bytes of 1.
inline constexpr int64_t kOnes = 0x01010101;
/// The sum of one operand's bytes: its product with `ones`, a variable (folded into the formula it
/// would be a product no more).
Expr word_sum(const Words& w, const Expr& word, const Expr& ones, bool of_columns);

}  // namespace symtile
