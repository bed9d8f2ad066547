#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "symtile/base/check.h"
#include "symtile/format/archive.h"
#include "symtile/format/artifact.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/format/hash.h"
#include "symtile/format/validate.h"

namespace symtile::format {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes encode(const T& record) {
  RecordWriter writer;
  writer.write(record);
  return writer.take();
}

/// A section as the pieces to write one after another, each padded to the alignment.
struct Section {
  SectionKind kind;
  std::vector<std::span<const std::byte>> pieces;
};

std::span<const std::byte> padding(uint64_t bytes) {
  static constexpr std::array<std::byte, kAlignment> zeros{};
  return std::span(zeros).first(align_up(bytes) - bytes);
}

/// Only the constants have several pieces; their section is hashed as it is written, padding and
/// all, which XXH64 cannot do piecewise, so each piece's hash is hashed instead.
uint64_t checksum(const Section& section) {
  if (section.kind != SectionKind::constants) return xxh64(section.pieces.front());
  std::vector<uint64_t> hashes;
  for (const auto& piece : section.pieces) hashes.push_back(xxh64(piece));
  return xxh64(std::as_bytes(std::span(hashes)));
}

uint64_t section_bytes(const Section& section) {
  if (section.kind != SectionKind::constants) return section.pieces.front().size();
  uint64_t total = 0;
  for (const auto& piece : section.pieces) total += align_up(piece.size());
  return total;
}

Program with_offsets(const ArtifactParts& parts) {
  Program program = parts.program;
  SYMTILE_CHECK(parts.constants.size() == program.constants.size());
  uint64_t offset = 0;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    program.constants[i].offset = offset;
    program.constants[i].bytes = parts.constants[i].size();
    offset += align_up(parts.constants[i].size());
  }
  try {
    validate(program, offset);
    for (const CodeSection& code : parts.code) validate(code.info, program);
    for (const DeviceSection& device : parts.devices) validate(device.info, program);
  } catch (const UserError& e) {
    SYMTILE_UNREACHABLE("the program to be written is not valid: {}", e.what());
  }
  return program;
}

std::span<const std::byte> bytes_of(const auto& record) {
  return std::as_bytes(std::span(&record, 1));
}

}  // namespace

void write_artifact(const ArtifactParts& parts, const ByteSink& to) {
  const auto sink = [&](std::span<const std::byte> piece) {
    if (!piece.empty()) to(piece);
  };
  const Bytes manifest = encode(parts.manifest);
  const Bytes program = encode(with_offsets(parts));
  std::vector<Bytes> infos;
  for (const CodeSection& code : parts.code) infos.push_back(encode(code.info));
  for (const DeviceSection& device : parts.devices) infos.push_back(encode(device.info));

  std::vector<Section> sections = {{SectionKind::manifest, {manifest}},
                                   {SectionKind::program, {program}},
                                   {SectionKind::constants, parts.constants}};
  for (size_t i = 0; i < parts.code.size(); ++i) {
    sections.push_back({SectionKind::code_info, {infos[i]}});
    sections.push_back({SectionKind::code, {parts.code[i].object}});
  }
  for (size_t i = 0; i < parts.devices.size(); ++i) {
    const auto text = std::as_bytes(std::span(parts.devices[i].text));
    sections.push_back({SectionKind::device_info, {infos[parts.code.size() + i]}});
    sections.push_back({SectionKind::device_code, {text}});
  }
  SYMTILE_CHECK(sections.size() <= kMaxSections);

  std::vector<SectionRecord> table;
  uint64_t offset = align_up(sizeof(FileHeader) + sections.size() * sizeof(SectionRecord));
  for (const Section& section : sections) {
    const uint64_t bytes = section_bytes(section);
    table.push_back({section.kind, 0, offset, bytes, checksum(section)});
    offset += align_up(bytes);
  }
  const auto table_bytes = std::as_bytes(std::span(table));
  const FileHeader header{kMagic, kFormatVersion, static_cast<uint32_t>(table.size()), offset,
                          xxh64(table_bytes, offset)};
  sink(bytes_of(header));
  sink(table_bytes);
  sink(padding(sizeof header + table_bytes.size()));
  for (const Section& section : sections) {
    for (const auto& piece : section.pieces) {
      sink(piece);
      sink(padding(piece.size()));
    }
  }
}

std::vector<std::byte> artifact_bytes(const ArtifactParts& parts) {
  Bytes out;
  write_artifact(parts, [&](std::span<const std::byte> piece) {
    out.insert(out.end(), piece.begin(), piece.end());
  });
  return out;
}

void save_artifact(const ArtifactParts& parts, const std::string& path) {
  const std::string temporary = path + ".part";
  const auto failed = [&](const std::string& file) {
    std::error_code ignored;
    const std::string reason = std::strerror(errno);
    std::filesystem::remove(temporary, ignored);
    return EnvironmentError(fmt::format("cannot write '{}': {}", file, reason));
  };
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(temporary.c_str(), "wb"));
  if (!file) throw failed(temporary);
  write_artifact(parts, [&](std::span<const std::byte> piece) {
    if (std::fwrite(piece.data(), 1, piece.size(), file.get()) != piece.size()) {
      throw failed(temporary);
    }
  });
  if (std::fflush(file.get()) != 0) throw failed(temporary);
  file.reset();
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::filesystem::remove(temporary, error);
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path, error.message()));
  }
}

}  // namespace symtile::format
