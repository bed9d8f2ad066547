// The artifact: one file with the program, the constants and the code of every target.
//
//   header         magic, format version, number of sections, file size
//   section table  kind, offset, size and XXH64 checksum of each section; its own checksum
//   sections       64-byte aligned: manifest, program, constants, then (code info, code) for each
//                  CPU level and (device info, device code) for each kind of device
//
// Little-endian throughout. Loading trusts nothing: sizes, checksums and every index are checked
// before use, and whatever is wrong is a UserError that says what the file is instead.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "symtile/format/device_code.h"
#include "symtile/format/program.h"

namespace symtile::format {

struct CodeSection {
  CodeInfo info;
  std::vector<std::byte> object;  ///< a shared object, or whatever the target loads
};

struct DeviceSection {
  DeviceInfo info;
  std::string text;  ///< the program that the device's driver compiles
};

/// What the compiler hands over. `constants` are the bytes of Program::constants, in that order;
/// their offsets are assigned by the writer.
struct ArtifactParts {
  Manifest manifest;
  Program program;
  std::vector<std::span<const std::byte>> constants;
  std::vector<CodeSection> code;
  std::vector<DeviceSection> devices;
};

/// Streams the file to `sink` piece by piece; validates first (InternalError when a part is bad).
using ByteSink = std::function<void(std::span<const std::byte>)>;
void write_artifact(const ArtifactParts& parts, const ByteSink& sink);
std::vector<std::byte> artifact_bytes(const ArtifactParts& parts);
/// Writes to a temporary file beside `path` and renames it; throws EnvironmentError.
void save_artifact(const ArtifactParts& parts, const std::string& path);

/// What a loader sees. The spans point into the bytes that were given to read_artifact.
struct ArtifactView {
  struct Code {
    CodeInfo info;
    std::span<const std::byte> object;
  };
  struct Device {
    DeviceInfo info;
    std::string_view text;
  };
  Manifest manifest;
  Program program;
  std::span<const std::byte> constants;  ///< the section; 64-byte aligned if the file is
  std::vector<Code> code;
  std::vector<Device> devices;
};

/// `name` opens error texts. The checksum of the constants can be skipped, because it reads them
/// all; everything else is always checked.
ArtifactView read_artifact(std::span<const std::byte> file, const std::string& name,
                           bool verify_constants = true);

}  // namespace symtile::format
