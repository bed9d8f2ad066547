// The two halves of verify(Module).
#pragma once

#include "symtile/ir/module.h"

namespace symtile {

void verify_graph(const Module& m, const GraphFunction& f, const OpChecker& check_ops);
void verify_tile(const TileFunction& f);

}  // namespace symtile
