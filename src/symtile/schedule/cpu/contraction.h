// Template for heavy sums of products: matmul, convolution, einsum, in every dtype.
//
//   out[batch, m, n] = epilogue(sum over k of A[batch, m, k] * B[batch, k, n], ...)
// Blocked for cache, both operands packed where that pays, a register tile of rows x lanes inside
// (Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication"). What is read through
// an expression (im2col, padding, dequantisation) is evaluated while packing; everything after the
// sum is evaluated where the tile is stored. Constant operands arrive packed (prepack_constants).
#pragma once

#include "symtile/schedule/cpu/contraction_tile.h"
#include "symtile/schedule/cpu/loops.h"

namespace symtile {

/// nullopt: `f` is no contraction.
std::optional<TileFunction> schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                                 const CpuTarget& target);
/// The same with a tile of the schedule space, for a function that is one.
TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                  const CpuTarget& target, const ContractionTile& tile);

}  // namespace symtile
