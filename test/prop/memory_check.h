// Whether a memory plan is sound: the arena's bytes as they would be written and read.
#pragma once

#include <string>

#include "symtile/ir/module.h"

namespace symtile::test {

/// Replays a planned graph function at values of its entry symbols with a shadow of the arena that
/// remembers who wrote each byte last. What is wrong, or empty: a value outside the arena, one read
/// after something else was written over it, a result over an argument of its own kernel.
std::string check_memory(const GraphFunction& f, const DimValues& symbols);

}  // namespace symtile::test
