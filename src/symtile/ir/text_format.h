// Small pieces of the text form that printers and parsers agree on: names, strings, numbers.
#pragma once

#include <string>
#include <string_view>

#include "symtile/ir/tile.h"

namespace symtile {

/// [A-Za-z_][A-Za-z0-9_.]* and not `true` or `false`: the form of symbols, axes and variables.
bool is_identifier(std::string_view name);
/// [A-Za-z0-9_.]+: a name that needs no quotes behind '%' or '@'.
bool is_word(std::string_view name);
/// "..." with escapes \" \\ \n \t \xHH; bytes of UTF-8 stay.
std::string quote(std::string_view text);
std::string value_name(std::string_view name);     ///< %x, %"odd name"
std::string function_name(std::string_view name);  ///< @f, @"odd name"
/// `name` when it is an identifier, else quoted.
std::string plain_name(std::string_view name);

/// The shortest decimal that reads back as the same value of `dtype`, with a '.' or exponent.
/// `inf`, `-inf`, `nan`, and `nan(0x...)` with the bits of the double for other NaNs.
std::string float_text(DType dtype, double value);
/// Decimal; u64 as its unsigned value.
std::string int_text(DType dtype, int64_t value);

std::string dims_text(const Dims& dims);  ///< (n, 4*m)

/// Dtypes of the let variables in scope; other variables are i64.
using VariableTypes = std::map<std::string, DType>;
std::string print_expr(const Expr& e, const VariableTypes& lets = {});

}  // namespace symtile
