// A kernel of one's own: c = a * b, tiled, in C++.
#pragma once

#include "symtile/ir/tile_dsl.h"

/// tile @tiled_matmul<m, n, k>(%a, %b) -> (%c), for every m, n and k.
symtile::TileFunction tiled_matmul();
