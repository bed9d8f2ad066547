// ONNX in: a model file becomes a module whose `main` is the graph.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "symtile/ir/module.h"

namespace symtile {

struct OnnxImportOptions {
  /// Facts about named dimensions, e.g. "W=48..4096", "batch=1" (DIM=LO..HI or DIM=VALUE).
  std::vector<std::string> dims;
};

/// Reads and imports a model. Diagnostics: bad_model_file, external_data, too_large, unsupported
/// (one message that lists every unsupported node at once), ...
Module import_onnx(const std::filesystem::path& file, const OnnxImportOptions& options = {});
/// The same from bytes; external data is looked up below `folder`.
Module import_onnx_bytes(std::string_view bytes, const std::string& file_name,
                         const std::filesystem::path& folder,
                         const OnnxImportOptions& options = {});

/// A serialised TensorProto (ONNX test data), for `symtile conform`.
Constant parse_onnx_tensor(std::string_view bytes, const std::string& file_name);

/// Names of all operator types that have an importer, sorted.
std::vector<std::string> supported_onnx_ops();

}  // namespace symtile
