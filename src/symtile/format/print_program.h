// The program as text, for people: `symtile inspect --program`.
#pragma once

#include <string>

#include "symtile/format/program.h"

namespace symtile::format {

/// "launch_kernel", "bind_dims", ...
std::string_view name_of(const Instruction& instruction);

/// Expects a valid program.
std::string to_text(const Program& program);

}  // namespace symtile::format
