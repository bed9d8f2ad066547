#include "symtile/frontend/onnx/load_model.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <set>

namespace symtile::onnx_import {
namespace {

// A protobuf message cannot be larger; bigger models keep their weights in external data.
constexpr uintmax_t kMaxModelBytes = INT_MAX;
// Graphs nest three messages a level; check_graph.cpp gives the limit on graphs its own message.
constexpr int kMessageNesting = 500;

bool starts_with(std::string_view bytes, std::string_view prefix) {
  return bytes.substr(0, prefix.size()) == prefix;
}

/// What the bytes are, when they are recognisably something else than a protobuf message.
const char* recognise(std::string_view bytes) {
  std::string_view text = bytes.substr(0, 512);
  if (starts_with(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  std::string lower(text.substr(0, 64));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (starts_with(text, "version https://git-lfs")) {
    return "a Git-LFS pointer, not the model itself; fetch the model with 'git lfs pull'";
  }
  if (starts_with(lower, "<!doctype html") || starts_with(lower, "<html") ||
      starts_with(lower, "<head") || starts_with(lower, "<?xml")) {
    return "an HTML or XML page, probably an error page that was saved by a download";
  }
  if (starts_with(text, "ir_version:") || starts_with(text, "producer_name:") ||
      starts_with(text, "graph {")) {
    return "a model in protobuf text form; convert it to the binary form";
  }
  if (starts_with(text, "{\"") || starts_with(text, "{\n") || starts_with(text, "[{")) {
    return "JSON text";
  }
  if (starts_with(bytes, "PK\x03\x04"))
    return "a zip archive (a PyTorch checkpoint is one); export the model to ONNX";
  if (starts_with(bytes, "\x1f\x8b")) return "a gzip archive; unpack it first";
  if (starts_with(bytes, "GGUF")) return "a GGUF checkpoint";
  if (starts_with(bytes, "\x89HDF")) return "an HDF5 file";
  if (starts_with(bytes, "\x80\x02") || starts_with(bytes, "\x80\x03") ||
      starts_with(bytes, "\x80\x04")) {
    return "a Python pickle, which is never loaded; export the model to ONNX";
  }
  if (starts_with(bytes,
                  "\x7f"
                  "ELF"))
    return "an executable";
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3") return "a TensorFlow Lite model";
  if (bytes.size() >= 9 && bytes[8] == '{' && bytes[7] == 0 && bytes[6] == 0) {
    return "a safetensors checkpoint";
  }
  if (bytes.size() >= 16 &&
      std::all_of(bytes.begin(), bytes.begin() + 16, [](char c) { return c == 0; })) {
    return "filled with zeros, probably an interrupted download";
  }
  return nullptr;
}

void check_versions(const pb::ModelProto& model, const Location& where) {
  if (!model.has_ir_version() || model.ir_version() < 1) {
    fail(DiagId::bad_model_file, where,
         "the model has no valid IR version; it is not an ONNX model");
  }
  if (model.ir_version() > kMaxIrVersion) {
    fail(DiagId::unsupported, where, "IR version {} is newer than {}, the newest that is supported",
         model.ir_version(), kMaxIrVersion);
  }
  if (model.opset_import_size() == 0 && model.ir_version() >= 3) {
    fail(DiagId::bad_model_file, where, "the model imports no operator set");
  }
  std::set<std::string> domains;
  for (const pb::OperatorSetIdProto& o : model.opset_import()) {
    const std::string domain = normal_domain(o.domain());
    if (!domains.insert(domain).second) {
      fail(DiagId::bad_model_file, where, "the operator set of domain '{}' is imported twice",
           printable(domain));
    }
    if (o.version() < 1) {
      fail(DiagId::bad_model_file, where, "operator set version {} of domain '{}' is not valid",
           o.version(), printable(domain));
    }
    if (domain.empty() && o.version() > kMaxOpset) {
      fail(DiagId::unsupported, where,
           "operator set {} is newer than {}, the newest that is supported", o.version(),
           kMaxOpset);
    }
  }
}

}  // namespace

std::string printable(std::string_view name) {
  constexpr size_t kLongest = 120;
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  if (name.size() > kLongest) out += "...";
  return out;
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string read_model_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!error && std::filesystem::is_directory(status)) {
    throw EnvironmentError(fmt::format("cannot read '{}': it is a directory", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  const uintmax_t size = in ? std::filesystem::file_size(file, error) : 0;
  if (!in || error) {
    throw EnvironmentError(fmt::format("cannot read '{}': {}", file.string(),
                                       error ? error.message() : std::strerror(errno)));
  }
  if (size > kMaxModelBytes) {
    fail(DiagId::too_large, make_location(file.filename().string(), "", ""),
         "the file has {} bytes; a model file has at most {} and keeps larger weights in external "
         "data",
         size, kMaxModelBytes);
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size)) {
    throw EnvironmentError(fmt::format("cannot read '{}': the file ended early", file.string()));
  }
  return bytes;
}

void parse_message(std::string_view bytes, const std::string& file_name, const char* what,
                   google::protobuf::MessageLite& message) {
  const Location where = make_location(file_name, "", "");
  if (bytes.empty()) fail(DiagId::bad_model_file, where, "the file is empty");
  if (bytes.size() > kMaxModelBytes) {
    fail(DiagId::too_large, where, "{} bytes; {} has at most {}", bytes.size(), what,
         kMaxModelBytes);
  }
  if (const char* kind = recognise(bytes)) {
    fail(DiagId::bad_model_file, where, "this is not {}: the file is {}", what, kind);
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  stream.SetRecursionLimit(kMessageNesting);
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail(DiagId::bad_model_file, where,
         "this is not {}, or it is truncated or corrupt ({} bytes); check the download", what,
         bytes.size());
  }
}

std::unique_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& file_name) {
  auto model = std::make_unique<pb::ModelProto>();
  parse_message(bytes, file_name, "an ONNX model", *model);
  const Location where = make_location(file_name, "", "");
  if (!model->has_graph()) {
    fail(DiagId::bad_model_file, where,
         "the file holds no graph; it is not an ONNX model or is truncated");
  }
  check_versions(*model, where);
  return model;
}

}  // namespace symtile::onnx_import
