// Opens a file of external tensor data: a relative path that stays below the model's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "symtile/diag/location.h"

namespace symtile::onnx_import {

class ExternalFile {
 public:
  /// Throws an external_data diagnostic for a path that leaves the folder, is not a plain file,
  /// or cannot be opened.
  ExternalFile(const std::filesystem::path& folder, const std::string& path, const Location& where);
  ~ExternalFile();
  ExternalFile(const ExternalFile&) = delete;
  ExternalFile& operator=(const ExternalFile&) = delete;

  uint64_t size() const { return size_; }
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }
  std::vector<std::byte> read(uint64_t offset, uint64_t length, const Location& where) const;

 private:
  int fd_ = -1;
  uint64_t size_ = 0, device_ = 0, inode_ = 0;
  std::string path_;
};

}  // namespace symtile::onnx_import
