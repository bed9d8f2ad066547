// Relocatable ELF objects in, one shared object out, linked in-process by LLD.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace symtile::codegen {

/// `exports` are kept and visible; everything they do not reach is dropped. Throws
/// EnvironmentError when the temporary files cannot be written.
std::vector<std::byte> link_shared(const std::vector<std::string>& objects,
                                   const std::vector<std::string>& exports);

}  // namespace symtile::codegen
