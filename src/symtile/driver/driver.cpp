#include "symtile/driver/driver.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "symtile/diag/diagnostic.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/frontend/onnx/onnx.h"
#include "symtile/op/op.h"

namespace symtile {
namespace {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw EnvironmentError(fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

FileKind detect_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw EnvironmentError(fmt::format("cannot read '{}': it is a directory", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw EnvironmentError(fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  char head[8] = {};
  in.read(head, sizeof head);
  const std::string_view start(head, static_cast<size_t>(in.gcount()));
  const std::string_view magic(reinterpret_cast<const char*>(format::kMagic.data()), format::kMagic.size());
  if (start.starts_with(magic)) return FileKind::artifact;
  if (file.extension() == ".sym") return FileKind::module_text;
  return FileKind::onnx;
}

Module load_module(const std::filesystem::path& file, const std::vector<std::string>& dims) {
  if (detect_file(file) == FileKind::module_text) {
    Module module = parse_module(read_file(file), file.string());
    if (auto* main = module.find(Module::kMain)) {
      for (const std::string& fact : dims) std::get<GraphFunction>(*main).facts.assume_text(fact);
    }
    verify(module, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
    return module;
  }
  OnnxImportOptions options;
  options.dims = dims;
  return import_onnx(file, options);
}

CompiledModel compile_file(const std::filesystem::path& file, const std::vector<std::string>& dims,
                           const CompileOptions& options) {
  return compile(load_module(file, dims), options);
}

api::Model open_model(const std::filesystem::path& file, const std::vector<std::string>& dims, const CompileOptions& options) {
  if (detect_file(file) == FileKind::artifact) return api::Model(file.string());
  const std::vector<std::byte> bytes = format::artifact_bytes(compile_file(file, dims, options).parts());
  return api::Model(bytes.data(), bytes.size());
}

std::vector<Constant> run_session(api::Session& session, const std::vector<Constant>& inputs) {
  std::vector<api::Input> arguments;
  for (const Constant& c : inputs) {
    arguments.push_back({c->bytes.data(), c->dims, static_cast<symtile_dtype>(c->dtype)});
  }
  std::vector<Constant> out;
  for (const api::Output& o : session.run(arguments)) {
    std::vector<std::byte> bytes(o.bytes());
    if (!bytes.empty()) std::memcpy(bytes.data(), o.raw(), bytes.size());
    out.push_back(make_constant(static_cast<DType>(o.dtype()), o.dims(), std::move(bytes)));
  }
  return out;
}

}  // namespace symtile
