// Symbolic integers: the dimension expressions of the whole compiler.
//
// A DimExpr is a polynomial with int64 coefficients over symbols and opaque terms
// (floordiv, floormod, min, max of DimExprs), always in canonical form, so two expressions
// that expand to the same polynomial compare equal structurally. All arithmetic is exact:
// int64 overflow throws a `dimension_overflow` diagnostic, it never wraps. `unknown()` ("?")
// stands for a dimension nothing is known about; it absorbs arithmetic and equals nothing.
// Division rounds towards minus infinity; a constant divisor of zero is a diagnostic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace symtile {

class DimExpr;
struct DimTerm;

/// Substitution of symbols by expressions.
using DimSubstitution = std::map<std::string, DimExpr>;
/// Values of symbols.
using DimValues = std::map<std::string, int64_t>;

class DimExpr {
 public:
  DimExpr() : DimExpr(int64_t{0}) {}
  DimExpr(int64_t value);                                       // NOLINT: a number is an expression
  DimExpr(int value) : DimExpr(static_cast<int64_t>(value)) {}  // NOLINT
  static DimExpr symbol(std::string name);
  static DimExpr unknown();

  bool is_unknown() const;
  std::optional<int64_t> as_const() const;
  bool is_const() const { return as_const().has_value(); }
  bool is_const(int64_t value) const { return as_const() == value; }
  /// The name, if the whole expression is one bare symbol.
  std::optional<std::string> as_symbol() const;

  /// The canonical sum of products; empty for zero. Not callable on unknown().
  const std::vector<DimTerm>& terms() const;

  void collect_symbols(std::set<std::string>& out) const;
  std::set<std::string> symbols() const;
  /// Replaces symbols (simultaneously); symbols without an entry stay.
  DimExpr substitute(const DimSubstitution& map) const;
  /// Exact value; throws dimension_overflow on overflow, unknown_name on a missing symbol.
  int64_t evaluate(const DimValues& values) const;

  /// Text such as "4*n + 1", "(h + 1) // 2", "max(n, m)"; parse_dim_expr reads it back.
  std::string str() const;

  friend bool operator==(const DimExpr& a, const DimExpr& b) { return same(a, b); }
  friend bool operator!=(const DimExpr& a, const DimExpr& b) { return !same(a, b); }
  friend bool operator<(const DimExpr& a, const DimExpr& b) { return compare(a, b) < 0; }
  /// Total order on canonical forms (arbitrary but deterministic).
  static int compare(const DimExpr& a, const DimExpr& b);
  /// Structural equality, by hash first. unknown() is the same as unknown() here, so that shapes
  /// can be keys and round-trip as text; the prover (Facts) never takes them for equal.
  static bool same(const DimExpr& a, const DimExpr& b);
  size_t hash() const;

  friend DimExpr operator+(const DimExpr& a, const DimExpr& b);
  friend DimExpr operator-(const DimExpr& a, const DimExpr& b);
  friend DimExpr operator*(const DimExpr& a, const DimExpr& b);
  friend DimExpr operator-(const DimExpr& a);
  DimExpr& operator+=(const DimExpr& b) { return *this = *this + b; }
  DimExpr& operator-=(const DimExpr& b) { return *this = *this - b; }
  DimExpr& operator*=(const DimExpr& b) { return *this = *this * b; }

 private:
  struct Node;
  explicit DimExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static DimExpr from_terms(std::vector<DimTerm> terms);
  friend struct DimTerm;
  friend class DimBuilder;  ///< the canonicaliser, private to shape/
  std::shared_ptr<const Node> node_;
};

/// Quotient and remainder rounding to minus infinity: -7 // 2 = -4, floormod(-7, 2) = 1.
DimExpr floordiv(const DimExpr& a, const DimExpr& b);
DimExpr floormod(const DimExpr& a, const DimExpr& b);
/// (a + b - 1) // b for positive b.
DimExpr ceildiv(const DimExpr& a, const DimExpr& b);
DimExpr min(const DimExpr& a, const DimExpr& b);
DimExpr max(const DimExpr& a, const DimExpr& b);
/// The smallest multiple of `unit` not below `a`.
DimExpr round_up(const DimExpr& a, int64_t unit);
DimExpr product(const std::vector<DimExpr>& dims);

/// An indivisible factor: a symbol, or an opaque two-operand term.
struct DimAtom {
  enum class Kind : uint8_t { symbol, floordiv, floormod, min, max };
  Kind kind;
  std::string name;           ///< symbols only
  std::vector<DimExpr> args;  ///< the two operands of an opaque term
  static int compare(const DimAtom& a, const DimAtom& b);
};

/// coefficient * atom^power * ...; factors sorted, powers >= 1, coefficient != 0.
struct DimTerm {
  int64_t coefficient;
  std::vector<std::pair<DimAtom, int>> factors;
};

/// Parses the text form; throws bad_text. Grammar: + - * // % min(a,b) max(a,b) ceildiv(a,b)
/// parentheses, integers, symbols ([A-Za-z_][A-Za-z0-9_.]*) and "?".
DimExpr parse_dim_expr(const std::string& text);

/// Names that print and parse as symbols: other characters become '_'.
std::string sanitize_symbol(const std::string& name);

}  // namespace symtile

template <>
struct std::hash<symtile::DimExpr> {
  size_t operator()(const symtile::DimExpr& e) const { return e.hash(); }
};
