// Kernels of several results whose results are made at the same points: an activation beside the
// sum that it is taken of, a scale beside its zero point.
//
// In the compute form they are stages one after the other, the later ones reading the earlier
// results at their own index. Templates schedule one stage: `join_results` makes one value of all
// of them, marked by names that no template knows, and `split_results` takes the stores of such
// values apart again. So no template need know of several results.
#pragma once

#include <optional>

#include "symtile/transform/tile/access.h"

namespace symtile {

/// The same function with one stage for all its results; itself when it has one result; nullopt
/// when the results are not made point by point. For analysis and for schedules.
std::optional<TileFunction> join_results(const TileFunction& f);

/// Makes a store for each result of every store of a joined value.
TileFunction split_results(TileFunction f);

}  // namespace symtile
