// Views as kernels, so that the fuse pass can look through them.
#pragma once

#include "symtile/ir/module.h"

namespace symtile {

/// A reshape whose dimensions are those of its operand, each perhaps split into several: to read
/// through it is plain index arithmetic.
struct SplittingView {
  TileCall call;
  TileFunction kernel;
};

/// nullopt for any other binding.
std::optional<SplittingView> splitting_view(const GraphFunction& f, const Binding& b);

}  // namespace symtile
