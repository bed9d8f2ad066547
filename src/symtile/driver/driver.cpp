#include "symtile/driver/driver.h"

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "symtile/diag/diagnostic.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/frontend/onnx/onnx.h"
#include "symtile/op/op.h"

namespace symtile {

std::string read_whole_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw EnvironmentError(
        fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

/// Facts of the user about the symbols of main.
void assume(Module& module, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  if (!module.find_graph(Module::kMain)) {
    fail(DiagId::bad_shape_fact, {}, "the module has no graph function '{}' to know '{}' of",
         Module::kMain, texts.front());
  }
  GraphFunction& main = module.graph(Module::kMain);
  const std::set<std::string> symbols = main.entry_symbols();
  for (const std::string& text : texts) {
    Facts one;
    one.assume_text(text);
    for (const auto& [name, range] : one.ranges()) {
      if (!symbols.count(name)) {
        fail(DiagId::unknown_name, {}, "'{}': the model has no dimension '{}'; it has: {}", text,
             name, symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", ")));
      }
    }
    main.facts.merge(one);
  }
}

bool is_module_text(std::string_view start) {
  return start.starts_with("graph @") || start.starts_with("tile @") ||
         start.starts_with("extern @");
}

}  // namespace

FileKind detect_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw EnvironmentError(fmt::format("cannot read '{}': it is a directory", file.string()));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw EnvironmentError(
        fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  char head[16] = {};
  in.read(head, sizeof head);
  const std::string_view start(head, static_cast<size_t>(in.gcount()));
  const std::string_view magic(reinterpret_cast<const char*>(format::kMagic.data()),
                               format::kMagic.size());
  if (start.starts_with(magic)) return FileKind::artifact;
  if (file.extension() == ".sym" || is_module_text(start)) return FileKind::module_text;
  return FileKind::onnx;
}

Module load_module(const std::filesystem::path& file, const std::vector<std::string>& facts) {
  const FileKind kind = detect_file(file);
  if (kind == FileKind::artifact) {
    fail(DiagId::bad_model_file, {},
         "'{}' is an artifact, which is compiled already; the model is needed here", file.string());
  }
  if (kind == FileKind::module_text) {
    Module module = parse_module(read_whole_file(file), file.string());
    verify(module, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
    assume(module, facts);
    return module;
  }
  OnnxImportOptions options;
  options.dims = facts;
  return import_onnx(file, options);
}

Module load_program(const std::filesystem::path& file, const std::vector<std::string>& facts) {
  Module module = load_module(file, facts);
  if (!module.find_graph(Module::kMain)) {
    fail(DiagId::bad_module, {}, "'{}' has no graph function '{}'", file.string(), Module::kMain);
  }
  return module;
}

CompiledModel compile_file(const std::filesystem::path& file, const std::vector<std::string>& dims,
                           const CompileOptions& options) {
  return compile(load_program(file, dims), options);
}

api::Model open_model(const std::filesystem::path& file, const std::vector<std::string>& dims,
                      const CompileOptions& options) {
  if (detect_file(file) == FileKind::artifact) return api::Model(file.string());
  return open_module(load_program(file, dims), options);
}

api::Model open_module(Module module, const CompileOptions& options) {
  verify(module, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
  const std::vector<std::byte> bytes =
      format::artifact_bytes(compile(std::move(module), options).parts());
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
