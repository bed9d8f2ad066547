// Parser of dimension expressions: recursive descent over hostile text.
//
// * // and % bind equally and to the left, unary minus binds tighter (as in Python), so
// "n // 2 * 4" is (n // 2) * 4 and "-7 // 2" is (-7) // 2.
#include <cctype>
#include <string_view>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

constexpr int kMaxNesting = 200;
constexpr size_t kMaxText = size_t{1} << 16;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > kMaxText) {
      fail(DiagId::bad_text, {}, "a dimension of {} characters; at most {}", text.size(), kMaxText);
    }
  }

  DimExpr whole() {
    DimExpr out = sum();
    skip_space();
    if (at_ != text_.size()) wrong("an operator or the end");
    return out;
  }

 private:
  DimExpr sum() {
    DimExpr out = product();
    for (;;) {
      if (accept("+")) {
        out += product();
      } else if (accept("-")) {
        out -= product();
      } else {
        return out;
      }
    }
  }

  DimExpr product() {
    DimExpr out = unary();
    for (;;) {
      if (accept("//")) {
        out = floordiv(out, unary());
      } else if (accept("*")) {
        out *= unary();
      } else if (accept("%")) {
        out = floormod(out, unary());
      } else {
        return out;
      }
    }
  }

  DimExpr unary() {
    if (++nesting_ > kMaxNesting) {
      fail(DiagId::bad_text, {}, "a dimension nests more than {} levels", kMaxNesting);
    }
    DimExpr out;
    if (accept("-")) {
      skip_space();
      // The magnitude of the smallest number has no positive counterpart.
      out = at_digit() ? number(true) : -unary();
    } else {
      out = primary();
    }
    --nesting_;
    return out;
  }

  DimExpr primary() {
    skip_space();
    if (accept("?")) return DimExpr::unknown();
    if (accept("(")) {
      DimExpr out = sum();
      expect(")");
      return out;
    }
    if (at_digit()) return number(false);
    const size_t start = at_;
    const auto is_head = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
    };
    while (at_ < text_.size() &&
           (is_head(text_[at_]) || (at_ > start && (at_digit() || text_[at_] == '.')))) {
      ++at_;
    }
    if (at_ == start) wrong("a number, a name, '?' or '('");
    std::string name(text_.substr(start, at_ - start));
    if (name == "min" || name == "max" || name == "ceildiv") {
      if (accept("(")) return call(name);
    }
    return DimExpr::symbol(std::move(name));
  }

  DimExpr call(const std::string& name) {
    DimExpr out = sum();
    expect(",");
    do {
      const DimExpr next = sum();
      out = name == "min" ? min(out, next) : name == "max" ? max(out, next) : ceildiv(out, next);
    } while (name != "ceildiv" && accept(","));
    expect(")");
    return out;
  }

  DimExpr number(bool negative) {
    Wide value = 0;
    const size_t start = at_;
    while (at_ < text_.size() && at_digit()) {
      value = value * 10 + (text_[at_++] - '0');
      if (value > (Wide{1} << 64)) break;
    }
    if (negative) value = -value;
    if (!fits_int64(value)) {
      fail(DiagId::dimension_overflow, {}, "the number at '{}' does not fit in 64 bits",
           text_.substr(start, 32));
    }
    return DimExpr(static_cast<int64_t>(value));
  }

  bool at_digit() const {
    return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) wrong("'" + std::string(token) + "'");
  }

  [[noreturn]] void wrong(const std::string& expected) const {
    if (at_ == text_.size()) {
      fail(DiagId::bad_text, {}, "dimension '{}': expected {} at the end", text_, expected);
    }
    fail(DiagId::bad_text, {}, "dimension '{}': expected {} at '{}'", text_, expected,
         text_.substr(at_, 16));
  }

  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

DimExpr parse_dim_expr(const std::string& text) { return Parser(text).whole(); }

}  // namespace symtile
