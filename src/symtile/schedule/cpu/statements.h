// Kernels of statements (scatter, cumsum) with compute stages among them.
#pragma once

#include "symtile/target/cpu_target.h"
#include "symtile/transform/tile/access.h"

namespace symtile {

/// Turns the stages of a function that also has statements into loops; the statements stay. Stages
/// and statements run in order, so unless the body is one parallel loop, a single thread runs it.
TileFunction schedule_statements(TileFunction f);

}  // namespace symtile
