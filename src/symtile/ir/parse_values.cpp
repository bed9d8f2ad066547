// Parsers of numbers, attributes, constants and facts.
#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "symtile/ir/parse_expr.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile {
namespace {

/// One number of an attribute: which of the two it is depends on its spelling.
std::variant<int64_t, double> parse_plain_number(TextCursor& cursor) {
  const size_t position = cursor.position();
  const bool negative = cursor.accept("-");
  if (const auto special = parse_special_float(cursor, negative)) return *special;
  const auto n = cursor.number("a number");
  if (!n.suffix.empty()) cursor.fail_at(position, "unexpected '{}' behind a number", n.suffix);
  if (n.is_float) return parse_float_value(cursor, DType::f64, negative, n.digits, position);
  return parse_int_value(cursor, DType::i64, negative, n.digits, position);
}

double as_double(const std::variant<int64_t, double>& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

Attribute parse_list(TextCursor& cursor) {
  if (cursor.accept("]")) return std::vector<int64_t>{};
  if (cursor.peek_quote()) {
    std::vector<std::string> texts;
    do {
      texts.push_back(cursor.quoted("a string"));
    } while (cursor.accept(","));
    cursor.expect("]", "a list of strings");
    return texts;
  }
  std::vector<std::variant<int64_t, double>> numbers;
  do {
    numbers.push_back(parse_plain_number(cursor));
  } while (cursor.accept(","));
  cursor.expect("]", "a list of numbers");
  const bool all_ints = std::all_of(numbers.begin(), numbers.end(), [](const auto& n) {
    return std::holds_alternative<int64_t>(n);
  });
  if (all_ints) {
    std::vector<int64_t> ints;
    for (const auto& n : numbers) ints.push_back(std::get<int64_t>(n));
    return ints;
  }
  std::vector<double> floats;
  for (const auto& n : numbers) floats.push_back(as_double(n));
  return floats;
}

Attribute parse_attribute(TextCursor& cursor) {
  if (cursor.peek_quote()) return cursor.quoted("a string");
  if (cursor.peek("@")) return FunctionRef{cursor.sigil_name('@', "a function")};
  if (cursor.peek("(")) return cursor.dims_in_parentheses();
  if (cursor.accept("[")) return parse_list(cursor);
  if (cursor.accept_word("true")) return int64_t{1};
  if (cursor.accept_word("false")) return int64_t{0};
  for (const std::string_view word : {"floats", "texts"}) {
    if (!cursor.accept_word(word)) continue;
    cursor.expect("[", word);
    cursor.expect("]", "the start of an empty list");
    if (word == "floats") return std::vector<double>{};
    return std::vector<std::string>{};
  }
  if (parse_dtype(cursor.peek_word())) return cursor.dtype("an element type");
  const bool number = cursor.peek_digit() || cursor.peek("-") || cursor.peek_word() == "inf" ||
                      cursor.peek_word() == "nan";
  if (!number) cursor.fail_expected("an attribute value");
  const auto value = parse_plain_number(cursor);
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  return std::get<double>(value);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Constant constant_from_hex(TextCursor& cursor, DType dtype, std::vector<int64_t> dims,
                           int64_t count) {
  const size_t position = cursor.position();
  const std::string text = cursor.quoted("the bytes of a constant");
  const auto elements =
      static_cast<uint64_t>(text.size()) / 2 / static_cast<uint64_t>(size_of(dtype));
  if (text.size() % static_cast<size_t>(2 * size_of(dtype)) != 0 ||
      elements != static_cast<uint64_t>(count)) {
    cursor.fail_at(position, "{} hexadecimal digits for {} elements of {}", text.size(), count,
                   name_of(dtype));
  }
  std::vector<std::byte> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) cursor.fail_at(position + 1 + 2 * i, "no hexadecimal digit");
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return make_constant(dtype, std::move(dims), std::move(bytes));
}

/// Reads one element into `c`.
void parse_element(TextCursor& cursor, ConstantData& c) {
  const int64_t index = static_cast<int64_t>(c.bytes.size()) / size_of(c.dtype);
  c.bytes.resize(c.bytes.size() + static_cast<size_t>(size_of(c.dtype)));
  if (c.dtype == DType::boolean) {
    const bool value = cursor.accept_word("true");
    if (!value) cursor.expect_word("false");
    return c.set_int(index, value);
  }
  const size_t position = cursor.position();
  const bool negative = cursor.accept("-");
  if (is_float(c.dtype)) {
    if (const auto special = parse_special_float(cursor, negative)) return c.set(index, *special);
  }
  const auto n = cursor.number("an element of a constant");
  if (!n.suffix.empty()) cursor.fail_at(position, "unexpected '{}' behind a number", n.suffix);
  if (is_float(c.dtype)) {
    return c.set(index, parse_float_value(cursor, c.dtype, negative, n.digits, position));
  }
  if (n.is_float) cursor.fail_at(position, "a float in a constant of {}", name_of(c.dtype));
  c.set_int(index, parse_int_value(cursor, c.dtype, negative, n.digits, position));
}

}  // namespace

int64_t parse_int_value(TextCursor& cursor, DType dtype, bool negative, std::string_view digits,
                        size_t position) {
  const auto refuse = [&]() {
    cursor.fail_at(position, "{}{} does not fit in {}", negative ? "-" : "", digits,
                   name_of(dtype));
  };
  uint64_t magnitude = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, magnitude);
  if (error != std::errc{} || end != last) refuse();
  const uint64_t limit = uint64_t{1} << 63;
  if (dtype == DType::u64) {
    if (negative && magnitude != 0) refuse();
    return static_cast<int64_t>(magnitude);
  }
  if (magnitude > limit || (magnitude == limit && !negative)) refuse();
  const auto value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  if (wrap_to(dtype, value) != value) refuse();
  return value;
}

double parse_float_value(TextCursor& cursor, DType dtype, bool negative, std::string_view digits,
                         size_t position) {
  const char* last = digits.data() + digits.size();
  double value = 0;
  std::from_chars_result result{};
  // Straight to the dtype: through double the shortest text of an f32 could round twice.
  if (dtype == DType::f64) {
    result = std::from_chars(digits.data(), last, value);
  } else {
    float narrow = 0;
    result = std::from_chars(digits.data(), last, narrow);
    value = round_to(dtype, static_cast<double>(narrow));
  }
  if (result.ec != std::errc{} || result.ptr != last) {
    cursor.fail_at(position, "'{}' is out of the range of {}", digits, name_of(dtype));
  }
  return negative ? -value : value;
}

std::optional<double> parse_special_float(TextCursor& cursor, bool negative) {
  const double sign = negative ? -1 : 1;
  if (cursor.accept_word("inf")) return sign * std::numeric_limits<double>::infinity();
  if (!cursor.accept_word("nan")) return std::nullopt;
  const double nan = std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  if (!cursor.accept("(")) return nan;
  const size_t position = cursor.position();
  const std::string text(cursor.slice(")", "the bits of a NaN"));
  cursor.expect(")", "the bits of a NaN");
  uint64_t bits = 0;
  const char* last = text.data() + text.size();
  const bool prefixed = text.size() > 2 && text.substr(0, 2) == "0x";
  const auto result = std::from_chars(text.data() + (prefixed ? 2 : 0), last, bits, 16);
  const double value = std::bit_cast<double>(bits);
  if (!prefixed || result.ec != std::errc{} || result.ptr != last || value == value) {
    cursor.fail_at(position, "'{}' are not the bits of a NaN", text);
  }
  return value;
}

Attributes parse_attributes(TextCursor& cursor) {
  Attributes out;
  cursor.expect("{", "the start of attributes");
  if (cursor.accept("}")) return out;
  do {
    const size_t position = cursor.position();
    std::string name = cursor.identifier_or_quoted("the name of an attribute");
    if (out.has(name)) cursor.fail_at(position, "attribute '{}' is given twice", name);
    cursor.expect("=", "the name of an attribute");
    out.set(std::move(name), parse_attribute(cursor));
  } while (cursor.accept(","));
  cursor.expect("}", "attributes");
  return out;
}

Constant parse_constant(TextCursor& cursor) {
  const DType dtype = cursor.dtype("the element type of a constant");
  const size_t position = cursor.position();
  std::vector<int64_t> dims;
  int64_t count = 1;
  cursor.expect("(", "the element type of a constant");
  if (!cursor.accept(")")) {
    do {
      dims.push_back(cursor.integer("an extent"));
      if (dims.back() < 0 || __builtin_mul_overflow(count, dims.back(), &count)) {
        cursor.fail_at(position, "the extents of a constant are negative or too large");
      }
    } while (cursor.accept(","));
    cursor.expect(")", "the extents of a constant");
  }
  if (cursor.peek_word() == "elided") {
    cursor.fail_here("the contents of this constant were not printed");
  }
  if (cursor.accept_word("hex")) return constant_from_hex(cursor, dtype, std::move(dims), count);
  auto c = std::make_shared<ConstantData>(ConstantData{dtype, std::move(dims), {}});
  cursor.expect("[", "the extents of a constant");
  if (!cursor.accept("]")) {
    do {
      parse_element(cursor, *c);
    } while (cursor.accept(","));
    cursor.expect("]", "the elements of a constant");
  }
  const auto given = static_cast<int64_t>(c->bytes.size()) / size_of(dtype);
  if (given != count) {
    cursor.fail_at(position, "{} elements are given for a constant of {}", given, count);
  }
  return c;
}

Facts parse_facts(TextCursor& cursor) {
  Facts facts;
  cursor.expect("{", "'facts'");
  while (!cursor.accept("}")) {
    const size_t position = cursor.position();
    const std::string text(cursor.slice(";}", "a fact"));
    if (text.empty()) cursor.fail_at(position, "expected a fact");
    cursor.located(position, [&] { facts.assume_text(text); });
    cursor.accept(";");
  }
  return facts;
}

std::vector<std::string> parse_symbols(TextCursor& cursor) {
  std::vector<std::string> out;
  if (!cursor.accept("<")) return out;
  do {
    out.push_back(cursor.identifier("a symbol"));
  } while (cursor.accept(","));
  cursor.expect(">", "a list of symbols");
  return out;
}

}  // namespace symtile
