// The template for heavy sums of products: matmul, convolution, einsum, in every dtype.
//
//   out[batch, m, n] = epilogue(sum over k of A[batch, m, k] * B[batch, k, n], ...)
// Blocked for cache, B in packed panels of kPanel columns, a register tile of rows x lanes inside
// (Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication"). What is read through
// an expression (im2col, padding, dequantisation) is evaluated while packing; everything after the
// sum is evaluated where the tile is stored. Constant operands arrive packed (prepack_constants).
#pragma once

#include "symtile/schedule/cpu/loops.h"

namespace symtile {

/// Columns of one packed panel, on every target, so that packed constants fit all of them.
inline constexpr int64_t kPanel = 32;

struct Contraction {
  std::vector<Axis> batch;  ///< output axes outside the matrix: both operands, or not mergeable
  std::vector<Axis> rows;   ///< output axes of the row operand, merged into m
  std::vector<Axis> cols;   ///< innermost output axes of the column operand, merged into n
  std::vector<Axis> k;      ///< reduction axes
  Expr row_operand, col_operand;
  Expr sum;  ///< the ReduceExpr inside the stage's value
  bool packed = false;  ///< col_operand is panels: B[n // kPanel, k, n % kPanel]
};

/// Recognises the single stage of `form` (indices still those of the unflattened buffers).
std::optional<Contraction> match_contraction(const ComputeForm& form, const Facts& facts);

TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form, const CpuTarget& target);

}  // namespace symtile
