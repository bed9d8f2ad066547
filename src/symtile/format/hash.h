// XXH64, the checksum of artifact sections: fast enough to check gigabytes of constants at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace symtile::format {

uint64_t xxh64(std::span<const std::byte> data, uint64_t seed = 0);

}  // namespace symtile::format
