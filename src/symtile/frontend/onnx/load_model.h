// From a file or bytes to a ModelProto whose overall form is right.
//
// Model files are untrusted: what is not a model is recognised and named (a Git-LFS pointer, an
// HTML page, an archive, a truncated download), sizes are limited, and versions are checked.
// Diagnostics: bad_model_file, too_large, unsupported. An unreadable file is an EnvironmentError.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/schema.h"

namespace symtile::onnx_import {

/// Newest versions whose meaning is known here. Later operator sets up to kMaxOpset only add
/// element types and operators to kCheckedOpset, so a model that uses neither means the same.
inline constexpr int64_t kCheckedOpset = 22;
inline constexpr int64_t kMaxOpset = 28;
inline constexpr int64_t kMaxIrVersion = 14;

std::string read_model_file(const std::filesystem::path& file);
std::unique_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& file_name);
/// Parses one message; bad_model_file when that fails. `what` reads like "an ONNX model".
void parse_message(std::string_view bytes, const std::string& file_name, const char* what,
                   google::protobuf::MessageLite& message);

/// "" and "ai.onnx" are the same domain.
std::string normal_domain(const std::string& domain);

/// A name from the file as it may appear in a message: control characters escaped, cut at 120.
std::string printable(std::string_view name);

}  // namespace symtile::onnx_import
