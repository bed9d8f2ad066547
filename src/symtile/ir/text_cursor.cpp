#include "symtile/ir/text_cursor.h"

#include <algorithm>
#include <charconv>

namespace symtile {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr int kMaxTypeDepth = 64;

}  // namespace

void TextCursor::skip_blanks() {
  bool line_start = at_ == 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      line_start = true;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      // A blank may be the first thing looked at on a line.
      if (!line_start) {
        const size_t before = text_.find_last_not_of(" \t\r", at_);
        line_start = before == std::string_view::npos || text_[before] == '\n';
      }
      ++at_;
    } else if (c == '#' || (c == '/' && text_.substr(at_, 2) == "//" &&
                            (line_start || text_[at_ - 1] == '\n'))) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool TextCursor::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

size_t TextCursor::position() {
  skip_blanks();
  return at_;
}

int TextCursor::line_at(size_t position) const {
  const auto end = text_.begin() + static_cast<ptrdiff_t>(std::min(position, text_.size()));
  return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
}

bool TextCursor::peek(std::string_view symbol) {
  skip_blanks();
  return text_.substr(at_, symbol.size()) == symbol;
}

bool TextCursor::accept(std::string_view symbol) {
  if (!peek(symbol)) return false;
  at_ += symbol.size();
  return true;
}

void TextCursor::expect(std::string_view symbol, std::string_view after) {
  if (!accept(symbol)) fail_expected(fmt::format("'{}' after {}", symbol, after));
}

std::string_view TextCursor::peek_word() {
  skip_blanks();
  if (at_ == text_.size() || !is_letter(text_[at_])) return {};
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool TextCursor::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

void TextCursor::expect_word(std::string_view word) {
  if (!accept_word(word)) fail_expected(fmt::format("'{}'", word));
}

std::string TextCursor::identifier(std::string_view what) {
  const std::string_view word = peek_word();
  if (word.empty() || word == "true" || word == "false") fail_expected(what);
  at_ += word.size();
  return std::string(word);
}

std::string TextCursor::quoted(std::string_view what) {
  if (!peek_quote()) fail_expected(what);
  const size_t start = at_++;
  std::string out;
  for (;;) {
    if (at_ >= text_.size() || text_[at_] == '\n') fail_at(start, "this string has no end");
    const char c = text_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == 'n') {
      out += '\n';
    } else if (escape == 't') {
      out += '\t';
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else if (escape == 'x' && at_ + 2 <= text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      fail_at(at_ - 1, "unknown escape; there are \\\" \\\\ \\n \\t \\xHH");
    }
  }
}

std::string TextCursor::identifier_or_quoted(std::string_view what) {
  return peek_quote() ? quoted(what) : identifier(what);
}

std::string TextCursor::sigil_name(char sigil, std::string_view what) {
  skip_blanks();
  if (at_ == text_.size() || text_[at_] != sigil) fail_expected(what);
  const size_t start = at_++;
  if (at_ < text_.size() && text_[at_] == '"') return quoted(what);
  size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  if (end == at_) fail_at(start, "expected {}, found '{}' without a name", what, sigil);
  std::string name(text_.substr(at_, end - at_));
  at_ = end;
  return name;
}

bool TextCursor::peek_digit() {
  skip_blanks();
  return at_ < text_.size() && is_digit(text_[at_]);
}

TextCursor::Number TextCursor::number(std::string_view what) {
  if (!peek_digit()) fail_expected(what);
  const auto digits = [&](size_t from) {
    while (from < text_.size() && is_digit(text_[from])) ++from;
    return from;
  };
  Number out;
  size_t end = digits(at_);
  if (end < text_.size() && text_[end] == '.') {
    out.is_float = true;
    end = digits(end + 1);
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    const size_t exponent_end = digits(exponent);
    if (exponent_end > exponent) {
      out.is_float = true;
      end = exponent_end;
    }
  }
  out.digits = text_.substr(at_, end - at_);
  size_t suffix = end;
  while (suffix < text_.size() && (is_letter(text_[suffix]) || is_digit(text_[suffix]))) ++suffix;
  out.suffix = text_.substr(end, suffix - end);
  at_ = suffix;
  return out;
}

int64_t TextCursor::integer(std::string_view what) {
  const size_t start = position();
  const bool negative = accept("-");
  const Number n = number(what);
  if (n.is_float || !n.suffix.empty()) fail_at(start, "expected {}, found another number", what);
  const std::string text = (negative ? "-" : "") + std::string(n.digits);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) fail_at(start, "{} does not fit in 64 bits", text);
  return value;
}

DType TextCursor::dtype(std::string_view what) {
  const size_t start = position();
  const auto dtype = parse_dtype(peek_word());
  if (!dtype) fail_at(start, "expected {}: f32, f64, f16, bf16, i8...i64, u8...u64 or bool", what);
  at_ += peek_word().size();
  return *dtype;
}

std::string_view TextCursor::slice(std::string_view stops, std::string_view what) {
  const size_t start = position();
  int depth = 0;
  for (size_t i = start; i < text_.size(); ++i) {
    const char c = text_[i];
    if (depth == 0 && stops.find(c) != std::string_view::npos) {
      at_ = i;
      size_t end = i;
      while (end > start && (text_[end - 1] == ' ' || text_[end - 1] == '\n')) --end;
      return text_.substr(start, end - start);
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth < 0) break;
  }
  fail_at(start, "expected {} followed by one of {}", what, stops);
}

DimExpr TextCursor::dim(std::string_view stops) {
  const size_t start = position();
  const std::string text(slice(stops, "a dimension formula"));
  if (text.empty()) fail_at(start, "expected a dimension formula");
  return located(start, [&] { return parse_dim_expr(text); });
}

Dims TextCursor::dims_in_parentheses() {
  Dims out;
  expect("(", "the start of a list of dimensions");
  if (accept(")")) return out;
  do {
    out.push_back(dim(",)"));
  } while (accept(","));
  expect(")", "a list of dimensions");
  return out;
}

std::optional<Dims> TextCursor::shape_text() {
  if (accept("*")) return std::nullopt;
  return dims_in_parentheses();
}

Type TextCursor::type() { return type_inside(0); }

Type TextCursor::type_inside(int depth) {
  const size_t start = position();
  if (depth > kMaxTypeDepth) fail_at(start, "a type nests more than {} levels", kMaxTypeDepth);
  const std::string kind(peek_word());
  const auto list = [&](std::string_view close) {
    std::vector<Type> out;
    if (accept(close)) return out;
    do {
      out.push_back(type_inside(depth + 1));
    } while (accept(","));
    expect(close, "a list of types");
    return out;
  };
  if (accept_word("Object")) return Type::object();
  static constexpr std::string_view kinds[] = {"Tensor", "Shape", "Scalar", "Tuple", "Func"};
  if (std::find(std::begin(kinds), std::end(kinds), kind) == std::end(kinds)) {
    fail_expected("a type: Tensor, Shape, Scalar, Tuple, Func or Object");
  }
  at_ += kind.size();
  expect("[", kind);
  Type out;
  if (kind == "Tensor") {
    out = Type::tensor_any_rank(DType::f32);
    out.dims = shape_text();
    expect(",", "the shape of a tensor");
    out.dtype = dtype("an element type");
  } else if (kind == "Shape") {
    out = Type::shape({});
    out.dims = shape_text();
  } else if (kind == "Scalar") {
    out = Type::scalar(dtype("an element type"));
  } else if (kind == "Tuple") {
    return Type::tuple(list("]"));
  } else {
    out.kind = Type::Kind::func;
    expect("(", "Func[");
    out.elements = list(")");
    expect("->", "the parameters of a function type");
    out.elements.push_back(type_inside(depth + 1));
    if (accept(",")) {
      expect_word("impure");
      out.pure = false;
    }
  }
  expect("]", "a type");
  return out;
}

void TextCursor::fail_expected(std::string_view what) {
  const size_t at = position();
  if (at == text_.size()) fail_at(at, "expected {}, found the end of the text", what);
  size_t end = at + 1;
  if (is_word_char(text_[at])) {
    while (end < text_.size() && is_word_char(text_[end]) && end - at < 40) ++end;
  }
  fail_at(at, "expected {}, found '{}'", what, text_.substr(at, end - at));
}

std::string TextCursor::message_of(const DiagnosticError& error) {
  const std::string text = error.what();
  const size_t colon = text.find("]: ");
  return colon == std::string::npos ? text : text.substr(colon + 3);
}

void TextCursor::fail_with(DiagId id, size_t position, const std::string& message) {
  position = std::min(position, text_.size());
  const size_t newline = position == 0 ? std::string_view::npos : text_.rfind('\n', position - 1);
  const size_t column = position - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  fail(id, {}, "{}:{}:{}: {}", file_, line_at(position), column, message);
}

}  // namespace symtile
