// What the command line and the bindings call: files in, artifacts and tensors out.
#pragma once

#include <filesystem>

#include "symtile/pipeline/pipeline.h"
#include "symtile/symtile.hpp"

namespace symtile {

/// What kind of file it is, from its first bytes (never from its name).
enum class FileKind : uint8_t { onnx, artifact, module_text };
FileKind detect_file(const std::filesystem::path& file);

/// Throws EnvironmentError.
std::string read_whole_file(const std::filesystem::path& file);

/// Reads a model: ONNX, or a module in text form. `facts` are about dimensions: "W=48..4096".
Module load_module(const std::filesystem::path& file, const std::vector<std::string>& facts);
/// The same, of a whole program: a module of which `main` is a graph function.
Module load_program(const std::filesystem::path& file, const std::vector<std::string>& facts);

CompiledModel compile_file(const std::filesystem::path& file, const std::vector<std::string>& dims,
                           const CompileOptions& options);

/// A loaded model, from an artifact or compiled in memory from a model file.
api::Model open_model(const std::filesystem::path& file, const std::vector<std::string>& dims,
                      const CompileOptions& options);

/// The same of a module that was made in memory.
api::Model open_module(Module module, const CompileOptions& options);

/// Runs with tensors in the order of the model's inputs; results in the order of its outputs.
std::vector<Constant> run_session(api::Session& session, const std::vector<Constant>& inputs);

}  // namespace symtile
