// The canonicaliser behind DimExpr, and the shared immutable node it builds.
//
// Private to shape/. A node is built once, with its hash, a bit mask of the symbols below it and
// its depth; expressions share nodes, and small constants share one table.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "symtile/shape/checked.h"
#include "symtile/shape/dim_expr.h"

namespace symtile {

struct DimExpr::Node {
  std::vector<DimTerm> terms;
  size_t hash = 0;
  uint64_t symbol_mask = 0;  ///< one bit per symbol (by hash); no common bit: no common symbol
  int depth = 0;             ///< nesting of opaque terms
  int weight = 0;            ///< terms and factors, those of operands included
  bool unknown = false;
  bool opaque = false;   ///< some factor is not a symbol
  bool has_mod = false;  ///< some factor is a floormod
  bool has_div = false;  ///< some factor is a floordiv
};

/// Expressions beyond these are rejected: they come from hostile or broken input.
inline constexpr int kMaxDimDepth = 400;
inline constexpr size_t kMaxDimTerms = 4096;
inline constexpr int kMaxDimPower = 64;
inline constexpr int kMaxDimWeight = 1 << 24;  ///< counts no further

using DimFactors = std::vector<std::pair<DimAtom, int>>;

/// Order of products: higher degree first, so the constant is last.
int compare_factors(const DimFactors& a, const DimFactors& b);
int degree(const DimFactors& factors);
/// a * b with sorted factors.
DimFactors multiply_factors(const DimFactors& a, const DimFactors& b);
/// The quotient when `divisor` divides `a` as a product of atoms.
std::optional<DimFactors> divide_factors(const DimFactors& a, const DimFactors& divisor);

/// The single factor of an expression that is exactly one atom.
const DimAtom* as_atom(const DimExpr& e);
/// The operands, if `e` is exactly one opaque term of this kind.
const DimAtom* as_opaque(const DimExpr& e, DimAtom::Kind kind);
/// a - b, if that is a constant visible in the canonical form and fits.
std::optional<int64_t> constant_difference(const DimExpr& a, const DimExpr& b);
/// The constant term.
int64_t constant_part(const DimExpr& e);

class DimBuilder {
 public:
  using AtomRewrite = std::function<std::optional<DimExpr>(const DimAtom&)>;

  /// Sorts, merges and simplifies.
  static DimExpr sum(std::vector<DimTerm> terms);
  /// As `sum` for terms that are sorted, merged and without zero coefficients.
  static DimExpr sorted_sum(std::vector<DimTerm> terms);
  static DimExpr term(int64_t coefficient, DimFactors factors);
  static DimExpr atom(DimAtom atom) { return term(1, {{std::move(atom), 1}}); }
  static DimExpr opaque(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b);
  /// Applies floordiv, floormod, min or max, simplifying.
  static DimExpr apply(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b);
  /// Bottom-up: operands of opaque terms first, then `rewrite` on every atom.
  static DimExpr rewrite(const DimExpr& e, const AtomRewrite& rewrite);
  /// Replaces every occurrence of one atom.
  static DimExpr replace(const DimExpr& e, const DimAtom& from, const DimExpr& to);
  static bool has_opaque(const DimExpr& e) { return e.node_->opaque; }
  static int weight(const DimExpr& e) { return e.node_->weight; }
  static uint64_t symbol_mask(const DimExpr& e) { return e.node_->symbol_mask; }
  static uint64_t symbol_bit(const std::string& name);

  static DimExpr multiply(const DimExpr& a, const DimExpr& b);
  static DimExpr add(const DimExpr& a, const DimExpr& b, bool negate_b);

 private:
  static DimExpr finish(std::vector<DimTerm> terms);
};

}  // namespace symtile
