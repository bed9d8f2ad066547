// Constant operands of integer products as words: four 8-bit numbers along the reduction in one
// i32.
//
// CPUs multiply and add four bytes at a time, so weights lie in memory that way (prepack_bytes).
// The kernel that reads them takes a byte out of its word by a shift, which is its meaning on every
// target; the contraction template finds the shift and reads whole words instead.
#pragma once

#include <optional>

#include "symtile/ir/expr.h"

namespace symtile {

inline constexpr int64_t kBytesOfWord = 4;

/// Byte `place % 4` of the word, as i8.
Expr byte_in_word(const Expr& word, const Expr& place);
/// The word whose byte `axis % 4` is `e`; undefined when `e` is no such byte.
Expr word_of_byte(const Expr& e, const std::string& axis);

}  // namespace symtile
