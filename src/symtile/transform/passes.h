// The table of passes: every line of passes.def, by name.
#pragma once

#include "symtile/pass/pass.h"

namespace symtile {

const std::vector<PassRecord>& all_passes();
/// Null when there is none of that name.
const PassRecord* find_pass(std::string_view name);

}  // namespace symtile
