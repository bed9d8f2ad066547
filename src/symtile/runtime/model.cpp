#include "symtile/runtime/model.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "symtile/base/check.h"
#include "symtile/runtime/cpu_level.h"

namespace symtile {

std::shared_ptr<const Model> Model::load_file(const std::string& path, const LoadOptions& options) {
  std::shared_ptr<Model> model(new Model);
  model->file_ = std::make_unique<MappedFile>(path);
  model->link(model->file_->bytes(), path, options);
  return model;
}

std::shared_ptr<const Model> Model::load_memory(std::span<const std::byte> bytes,
                                                const LoadOptions& options,
                                                const std::string& name) {
  std::shared_ptr<Model> model(new Model);
  model->copy_.reserve(bytes.size());
  std::copy(bytes.begin(), bytes.end(), model->copy_.data());
  model->link({model->copy_.data(), bytes.size()}, name, options);
  return model;
}

void Model::link(std::span<const std::byte> bytes, const std::string& name,
                 const LoadOptions& options) {
  view_ = format::read_artifact(bytes, name, options.verify_constants);
  for (const std::string& builtin : view_.program.builtins) {
    builtins_.push_back(find_builtin(builtin));
    if (!builtins_.back()) {
      throw UserError(fmt::format(
          "error[bad_model_file]: '{}' calls '{}', which this runtime does not have; update it",
          name, builtin));
    }
  }
  if (!view_.program.kernels.empty()) link_kernels(name, options);
}

void Model::link_kernels(const std::string& name, const LoadOptions& options) {
  const format::ArtifactView::Code* best = nullptr;
  int best_rank = 0;
  std::vector<std::string> levels;
  for (const auto& code : view_.code) {
    levels.push_back(code.info.level);
    const int rank = cpu_level_rank(code.info.level);
    if (rank > best_rank && (options.level.empty() || options.level == code.info.level)) {
      best = &code;
      best_rank = rank;
    }
  }
  if (!best && options.level.empty() && !view_.devices.empty()) return;
  if (!best) {
    throw EnvironmentError(
        fmt::format("'{}' has code for [{}], but {}; compile it for this target too", name,
                    fmt::join(levels, ", "),
                    options.level.empty() ? fmt::format("this machine is {}", best_cpu_level())
                                          : fmt::format("'{}' was asked for", options.level)));
  }
  level_ = best->info.level;
  object_ = SharedObject(best->object);
  for (const format::KernelEntry& entry : best->info.kernels) {
    void* address = object_.find(entry.symbol);
    if (!address) {
      throw UserError(fmt::format("error[bad_model_file]: '{}' lacks the code of kernel '{}'", name,
                                  entry.symbol));
    }
    kernels_.push_back({reinterpret_cast<KernelFunction>(address), &entry});
  }
}

std::vector<std::string> Model::devices() const {
  std::vector<std::string> out;
  for (const auto& device : view_.devices) out.push_back(device.info.device);
  return out;
}

std::shared_ptr<DeviceProgram> Model::device_program(const std::string& kind) const {
  const std::lock_guard lock(device_mutex_);
  std::shared_ptr<DeviceProgram>& program = device_programs_[kind];
  if (program) return program;
  for (const auto& device : view_.devices) {
    if (device.info.device != kind) continue;
    program = make_device_program(device.info, device.text, view_.constants);
    return program;
  }
  throw UserError(fmt::format(
      "error[unknown_name]: the model has no code for '{}'{}; compile it with '--target {}'", kind,
      view_.devices.empty() ? "" : fmt::format(", only for {}", fmt::join(devices(), ", ")), kind));
}

int64_t Model::arena_bytes(const std::map<std::string, int64_t>& symbols) const {
  const format::OptionalFormulaId id = program().arena_bytes;
  if (!id.valid()) return 0;
  const format::Formula& formula = program().formulas[id.value];
  const std::vector<std::string>& names = entry().slot_names;
  std::vector<int64_t> slots(names.size(), 0);
  for (const format::FormulaStep& step : formula.steps) {
    if (step.code != format::FormulaCode::slot) continue;
    const auto slot = static_cast<size_t>(step.operand);
    const auto it = symbols.find(names[slot]);
    if (it == symbols.end()) {
      throw UserError(
          fmt::format("error[unknown_name]: the memory formula '{}' needs a value of '{}'",
                      formula.text, names[slot]));
    }
    slots[slot] = it->second;
  }
  return format::evaluate(formula, slots);
}

}  // namespace symtile
