// Flat addresses: every buffer of a kernel seen as one-dimensional, so that merging loops and
// finding strides are questions about the coefficients of one index polynomial.
#pragma once

#include <optional>

#include "symtile/transform/tile/contraction.h"

namespace symtile {

/// e = sum of coefficients[v] * v + rest, with no variable of `vars` in any coefficient or in rest.
struct AffineForm {
  std::map<std::string, DimExpr> coefficients;
  DimExpr rest;
  /// Zero when the variable does not occur.
  DimExpr coefficient(const std::string& var) const;
};

/// nullopt when a variable occurs inside a product of two variables, a division, min or max.
std::optional<AffineForm> affine_form(const DimExpr& e, const std::set<std::string>& vars);

/// Row-major strides in elements.
Dims row_major_strides(const Dims& dims);

/// Replaces every load by one of a single flat index, simplified with `facts`, and every buffer by
/// its flat counterpart.
struct LinearForm {
  std::vector<Buffer> inputs, outputs, temporaries;  ///< rank 1
  std::vector<ComputeStmt> stages;                   ///< loads are flat; axes of extent 1 are gone
  std::map<std::string, Expr> store_index;           ///< of the stage that writes a buffer, by name
  Facts facts;                                       ///< function facts and the axes' ranges
};
LinearForm linearize(const TileFunction& f, const ComputeForm& form);

/// Adds 0 <= axis < extent to the facts.
void add_axis_facts(Facts& facts, const std::vector<Axis>& axes);

/// Rewrites `e` for one loop variable `merged` that runs over all points of the adjacent axes
/// `group` in row-major order. Loads whose index has proportional strides become direct; anything
/// else gets the decoded variables merged // inner % extent. Returns whether no decoding was
/// needed.
struct MergedExpr {
  Expr value;
  bool direct;
};
MergedExpr merge_axes(const Expr& e, const std::vector<Axis>& group, const std::string& merged,
                      const Facts& facts);

/// variable -> decoded expression of `merged`, for all axes of the group.
std::map<std::string, Expr> decode_axes(const std::vector<Axis>& group, const Expr& merged);

/// Stride of `var` in every load of `e` that depends on it: true when all are 0 or 1 and, if
/// `need_one`, at least one is 1.
bool unit_stride(const Expr& e, const std::string& var, bool need_one);

}  // namespace symtile
