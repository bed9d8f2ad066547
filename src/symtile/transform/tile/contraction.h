// Recognises heavy sums of products in a compute form: matmul, convolution, einsum, in any dtype.
//
//   out[batch, m, n] = epilogue(sum over k of A[batch, m, k] * B[batch, k, n], ...)
// The operand that depends on the innermost output axis is the column operand B, whatever side of
// the product it stands on; where only the other operand is contiguous along an output axis (the
// result is stored transposed), that one. Prepacking and the contraction templates ask here.
#pragma once

#include "symtile/transform/tile/access.h"

namespace symtile {

/// Columns of one packed panel, on every target, so that packed constants fit all of them.
inline constexpr int64_t kPanel = 32;

/// Rows of one packed strip: the register tiles of all targets have a divisor of it for rows.
inline constexpr int64_t kStrip = 12;

struct Contraction {
  std::vector<Axis> batch;  ///< output axes outside the matrix: both operands, or not mergeable
  std::vector<Axis> rows;   ///< output axes of the row operand, merged into m
  std::vector<Axis> cols;   ///< output axes of the column operand, merged into n
  std::vector<Axis> k;      ///< reduction axes
  Expr row_operand, col_operand;
  bool col_is_left = false;  ///< the column operand is the left factor of the product
  Expr sum;                  ///< the ReduceExpr inside the stage's value
  bool packed = false;       ///< col_operand is panels: B[n // kPanel, k, n % kPanel]
  bool strips = false;       ///< row_operand is strips: A[m // kStrip, k, m % kStrip]
};

/// Recognises the single stage of `form` (squeezed; indices still those of the unflattened
/// buffers).
std::optional<Contraction> match_contraction(const ComputeForm& form, const Facts& facts);

/// Product of the extents.
DimExpr extent_of(const std::vector<Axis>& axes);
/// Row-major position in the space of the axes, as a formula of their names.
DimExpr flat_position(const std::vector<Axis>& axes);

}  // namespace symtile
