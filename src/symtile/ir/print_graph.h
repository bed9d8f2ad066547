// Parts of the text form shared by the printers of graph and tile functions.
#pragma once

#include "symtile/ir/module.h"

namespace symtile {

std::string print_attributes(const Attributes& attrs);  ///< {axis = 1, name = "x"}
std::string print_facts(const Facts& facts);            ///< facts { 1 <= n <= 4 }; or ""
/// f32(2, 3) [1.0, 2.0, ...], or with exact bytes: f32(2, 3) hex "0000803f..."
std::string print_constant(const ConstantData& constant, bool contents);

}  // namespace symtile
