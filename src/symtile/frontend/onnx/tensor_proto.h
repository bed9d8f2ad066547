// Tensors of a model file as constants: every element type, every encoding, external data.
//
// Nothing is allocated before the element count, the byte size and the size of the payload agree.
// External data is read from regular files below the model's folder only: no absolute path, no
// "..", no symbolic or hard link, no device; and all of it together may not exceed a multiple of
// the files it comes from, so a small file cannot ask for unbounded memory.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/schema.h"
#include "symtile/ir/constant.h"

namespace symtile::onnx_import {

/// The element type of an ONNX data type number; nullopt for strings, complex, 8-bit floats, ...
std::optional<DType> dtype_of(int onnx_type);
/// The name of an ONNX data type number, for messages.
std::string onnx_type_name(int onnx_type);

class TensorReader {
 public:
  TensorReader(std::string file_name, std::filesystem::path folder)
      : file_name_(std::move(file_name)), folder_(std::move(folder)) {}

  Constant read(const pb::TensorProto& tensor, const Location& where);

 private:
  std::vector<std::byte> read_external(const pb::TensorProto& tensor, uint64_t size,
                                       const Location& where);
  std::string file_name_;
  std::filesystem::path folder_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> file_sizes_;  ///< by device and inode
  uint64_t external_bytes_ = 0;
};

}  // namespace symtile::onnx_import
