// Prints scheduled GPU tile functions as kernels of a C-like language.
//
// The form (docs/ir.md, "GPU kernels"): each top-level grid_block loop is one launch of a grid of
// blocks; inside, at most one nest of block_warp and warp_lane loops of constant extents gives the
// work-items of a block. Buffers come as a base pointer and an offset in bytes, symbols as i64;
// allocations outside the grid loops share one workspace.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "symtile/backend/c_source/dialect.h"
#include "symtile/ir/module.h"

namespace symtile::c_source {

struct PrintedLaunch {
  std::string name;  ///< of the kernel function
  DimExpr blocks;    ///< over the symbols of the tile function; may be 0
  int64_t threads = 1;
};

/// Arguments of every launch, in order: (pointer, i64 bytes) for each input and output; the
/// workspace pointer when workspace_bytes is not zero; the symbols.
struct PrintedKernel {
  std::string text;
  std::vector<PrintedLaunch> launches;
  DimExpr workspace_bytes;
};

/// `name` is an identifier that opens those of the launches.
PrintedKernel print_kernel(const TileFunction& scheduled, const std::string& name,
                           const Dialect& dialect);

/// The element types that a function mentions, in buffers or expressions.
std::set<DType> dtypes_of(const TileFunction& f);

/// A C identifier that resembles `name` and is not in `taken`, to which it is added. The ending
/// keeps it apart from keywords, types and functions of every language.
std::string identifier(const std::string& name, std::set<std::string>& taken);

}  // namespace symtile::c_source
