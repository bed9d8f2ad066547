// A loaded artifact: checked, mapped, its code linked. Immutable, so any number of sessions on any
// threads share one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "symtile/format/artifact.h"
#include "symtile/runtime/builtins/builtin.h"
#include "symtile/runtime/device.h"
#include "symtile/runtime/mapped_file.h"
#include "symtile/runtime/memory.h"
#include "symtile/runtime/shared_object.h"

namespace symtile {

struct LoadOptions {
  /// Reads all constants once to compare their checksum; everything else is always checked.
  bool verify_constants = true;
  /// Use only the code section of this level, e.g. "x86-64-v2"; empty: the best this machine runs.
  std::string level;
};

using KernelFunction = void (*)(void* const* buffers, const int64_t* symbols, void* scratch,
                                int64_t begin, int64_t end);

class Model {
 public:
  struct Kernel {
    KernelFunction run = nullptr;
    const format::KernelEntry* entry = nullptr;
  };

  /// Throws UserError on a bad artifact, EnvironmentError when the file cannot be read or no code
  /// section suits this machine.
  static std::shared_ptr<const Model> load_file(const std::string& path,
                                                const LoadOptions& options = {});
  /// Copies the bytes. `name` stands for the path in error texts.
  static std::shared_ptr<const Model> load_memory(std::span<const std::byte> bytes,
                                                  const LoadOptions& options = {},
                                                  const std::string& name = "<memory>");

  const format::Program& program() const { return view_.program; }
  const format::Manifest& manifest() const { return view_.manifest; }
  const format::Function& entry() const {
    return view_.program.functions[view_.program.entry.value];
  }
  /// Every code section, also those for other machines.
  const std::vector<format::ArtifactView::Code>& code() const { return view_.code; }
  const Kernel& kernel(uint32_t index) const { return kernels_[index]; }
  /// Whether it has code for a processor; an artifact may be for devices only.
  bool runs_on_cpu() const { return kernels_.size() == program().kernels.size(); }
  /// The kinds of devices it has code for.
  std::vector<std::string> devices() const;
  /// Its code for devices of `kind`, compiled at the first call. Throws EnvironmentError.
  std::shared_ptr<DeviceProgram> device_program(const std::string& kind) const;
  BuiltinFunction builtin(uint32_t index) const { return builtins_[index]; }
  const std::byte* constant(uint32_t index) const {
    return view_.constants.data() + view_.program.constants[index].offset;
  }
  /// Level of the code section in use; empty when the program has no kernels.
  const std::string& level() const { return level_; }

  uint64_t constant_bytes() const { return view_.constants.size(); }
  /// The arena of the entry function for these values of the input symbols; throws UserError when
  /// one that the formula needs is missing.
  int64_t arena_bytes(const std::map<std::string, int64_t>& symbols) const;

 private:
  Model() = default;
  void link(std::span<const std::byte> bytes, const std::string& name, const LoadOptions& options);
  void link_kernels(const std::string& name, const LoadOptions& options);

  std::unique_ptr<MappedFile> file_;
  AlignedBuffer copy_;
  format::ArtifactView view_;
  SharedObject object_;
  std::vector<Kernel> kernels_;
  std::vector<BuiltinFunction> builtins_;
  std::string level_;
  mutable std::mutex device_mutex_;  ///< guards the programs
  mutable std::map<std::string, std::shared_ptr<DeviceProgram>> device_programs_;
};

}  // namespace symtile
