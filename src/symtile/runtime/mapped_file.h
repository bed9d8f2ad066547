// A file mapped read-only: its pages are shared by all processes that load it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace symtile {

class MappedFile {
 public:
  MappedFile() = default;
  /// Throws EnvironmentError. The file must not shrink while it is mapped.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace symtile
