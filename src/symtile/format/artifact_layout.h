// Fixed-size records at the start of an artifact; shared by its writer and its reader.
#pragma once

#include <array>
#include <cstdint>

namespace symtile::format {

/// The first byte is no text and the line ends catch transfers in text mode.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'S', 'Y', 'M', '\r', '\n', 0x1a, '\n'};
inline constexpr uint64_t kAlignment = 64;
inline constexpr uint32_t kMaxSections = 1024;

struct FileHeader {
  std::array<uint8_t, 8> magic;
  uint32_t version;
  uint32_t sections;
  uint64_t file_bytes;
  uint64_t table_checksum;  ///< XXH64 of the section table, seeded with `file_bytes`
};

enum class SectionKind : uint32_t {
  manifest = 1,
  program,
  constants,
  code_info,
  code,
  device_info,
  device_code
};

struct SectionRecord {
  SectionKind kind;
  uint32_t reserved;
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
};

static_assert(sizeof(FileHeader) == 32 && sizeof(SectionRecord) == 32);

constexpr uint64_t align_up(uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace symtile::format
