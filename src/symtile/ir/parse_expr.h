// Parser of tile expressions, and of the numbers and attributes that graph functions share.
#pragma once

#include "symtile/ir/attributes.h"
#include "symtile/ir/constant.h"
#include "symtile/ir/text_cursor.h"
#include "symtile/ir/text_format.h"

namespace symtile {

/// Element types of the buffers in scope.
using BufferTypes = std::map<std::string, DType>;

/// One expression; nodes are built exactly as written, without folding.
Expr parse_expr(TextCursor& cursor, const BufferTypes& buffers, const VariableTypes& lets);

/// Immediates: digits with an optional minus, checked against the range of `dtype`.
int64_t parse_int_value(TextCursor& cursor, DType dtype, bool negative, std::string_view digits,
                        size_t position);
double parse_float_value(TextCursor& cursor, DType dtype, bool negative, std::string_view digits,
                         size_t position);
/// nan, nan(0x...), inf behind the cursor; nullopt when there is none of them.
std::optional<double> parse_special_float(TextCursor& cursor, bool negative);

/// {name = value, ...}, the opening brace included.
Attributes parse_attributes(TextCursor& cursor);
/// f32(2, 3) [...] or hex "...".
Constant parse_constant(TextCursor& cursor);
/// The facts behind the word `facts`: { fact; fact }.
Facts parse_facts(TextCursor& cursor);
/// <n, m>; empty when there is none.
std::vector<std::string> parse_symbols(TextCursor& cursor);

}  // namespace symtile
