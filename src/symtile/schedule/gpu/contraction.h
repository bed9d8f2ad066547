// The template for heavy sums of products on a GPU: matmul, convolution as implicit GEMM, einsum.
//
//   out[batch, m, n] = epilogue(sum over k of A[batch, m, k] * B[batch, k, n], ...)
//
// A block computes a tile of the output. Slices of A and B go from global memory to registers, from
// there to shared memory, and as fragments to registers again; both of the latter are doubled, so
// that loading overlaps with computing (Hidet, "Task-Mapping Programming Paradigm", 2023). What is
// read through an expression (im2col, padding, dequantisation, transposition) is evaluated where a
// slice is loaded, what stands behind the sum where the tile is stored. Edges are predicated.
// When the output is small, several blocks share the sum of one tile (parallel-k). A target with
// matrix instructions multiplies f16 and bf16 by them, from shared memory.
#pragma once

#include "symtile/schedule/gpu/launch.h"
#include "symtile/schedule/space.h"

namespace symtile::gpu {

/// Who computes what of a tile: spatial(warps) * repeat(outer) * spatial(lanes) * repeat(inner).
struct ContractionTile {
  int64_t warps_m = 1, warps_n = 1;
  int64_t outer_m = 1, outer_n = 1;
  int64_t lanes_m = 1, lanes_n = 1;
  int64_t inner_m = 1, inner_n = 1;
  int64_t k = 8;        ///< of a slice
  bool matrix = false;  ///< fragments of mma_m16n8k16: lanes 8 x 4, inner 1 x 2

  int64_t m() const { return warps_m * outer_m * lanes_m * inner_m; }
  int64_t n() const { return warps_n * outer_n * lanes_n * inner_n; }
  int64_t threads() const { return warps_m * warps_n * lanes_m * lanes_n; }
  ScheduleCandidate candidate() const;
};

/// Every tile that fits the target; the first one is used without tuning.
std::vector<ContractionTile> contraction_tiles(const GpuTarget& target);
/// Those of matrix instructions; none when the target has no such instructions.
std::vector<ContractionTile> matrix_tiles(const GpuTarget& target);

bool claims_contraction(const TileFunction& f, const ComputeForm& form);
/// The tiles of one function: of matrix instructions, where its operands are of their types.
std::vector<ContractionTile> contraction_tiles(const TileFunction& f, const ComputeForm& form,
                                               const GpuTarget& target);
/// nullopt: `f` is no contraction.
std::optional<TileFunction> schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                                 const GpuTarget& target);
/// The same with a tile of the schedule space, for a function that is one.
TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                  const GpuTarget& target, const ContractionTile& tile);
/// For schedule/space.h.
std::optional<std::vector<ScheduleCandidate>> contraction_candidates(const TileFunction& f,
                                                                     const GpuTarget& target);

}  // namespace symtile::gpu
