// Reads the text form: names, numbers, strings and slices, with errors that carry file, line and
// column. Blanks, newlines and comments (# to the end of a line; // when first on its line)
// separate tokens. There is no token list: what a '%' or '<' means depends on the place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/type.h"

namespace symtile {

class TextCursor {
 public:
  /// Trees and nests deeper than this are refused, so no walk of the result can overflow the stack.
  static constexpr int kMaxDepth = 1000;

  TextCursor(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  bool at_end();
  size_t position();  ///< of the next token
  void move_to(size_t position) { at_ = position; }
  int line_at(size_t position) const;
  const std::string& file() const { return file_; }

  /// Does the text go on with `symbol` (punctuation)?
  bool peek(std::string_view symbol);
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol, std::string_view after);

  /// The identifier that comes next, or "".
  std::string_view peek_word();
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);
  std::string identifier(std::string_view what);

  bool peek_quote() { return peek("\""); }
  std::string quoted(std::string_view what);
  std::string identifier_or_quoted(std::string_view what);
  /// What follows a '%' or '@': a word or a quoted string.
  std::string sigil_name(char sigil, std::string_view what);

  /// The digits, point and exponent of a number (no sign), and its suffix word.
  struct Number {
    std::string_view digits;
    std::string_view suffix;
    bool is_float = false;  ///< has a point or an exponent
  };
  bool peek_digit();
  Number number(std::string_view what);
  int64_t integer(std::string_view what);  ///< with optional '-'

  DType dtype(std::string_view what);
  /// The text up to one of `stops` outside brackets.
  std::string_view slice(std::string_view stops, std::string_view what);
  /// A dimension formula up to one of `stops`.
  DimExpr dim(std::string_view stops);
  Dims dims_in_parentheses();
  Type type();

  template <typename... Args>
  [[noreturn]] void fail_at(size_t position, fmt::format_string<Args...> format, Args&&... args) {
    fail_with(DiagId::bad_text, position, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) {
    fail_with(DiagId::bad_text, position(), fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_expected(std::string_view what);
  /// Runs f; its diagnostics are reported at `position`.
  template <typename F>
  auto located(size_t position, const F& f) {
    try {
      return f();
    } catch (const DiagnosticError& error) {
      fail_with(error.id(), position, message_of(error));
    }
  }

 private:
  [[noreturn]] void fail_with(DiagId id, size_t position, const std::string& message);
  static std::string message_of(const DiagnosticError& error);
  void skip_blanks();
  Type type_inside(int depth);
  std::optional<Dims> shape_text();

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
};

/// Counts nesting for as long as it lives; too much is an error at the cursor.
class NestingGuard {
 public:
  NestingGuard(int& depth, TextCursor& cursor) : depth_(depth) {
    if (depth_ >= kMaxNesting) cursor.fail_here("more than {} nested levels", kMaxNesting);
    ++depth_;
  }
  ~NestingGuard() { --depth_; }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;

 private:
  static constexpr int kMaxNesting = 200;
  int& depth_;
};

}  // namespace symtile
