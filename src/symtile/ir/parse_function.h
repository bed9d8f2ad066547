// Parsers of the three kinds of functions; each is called behind its keyword.
#pragma once

#include "symtile/ir/module.h"
#include "symtile/ir/text_cursor.h"

namespace symtile {

GraphFunction parse_graph_function(TextCursor& cursor);
TileFunction parse_tile_function(TextCursor& cursor);

}  // namespace symtile
