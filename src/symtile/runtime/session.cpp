#include "symtile/runtime/session.h"

#include <cstring>

#include "symtile/base/check.h"

namespace symtile {
namespace {

constexpr int kMaxThreads = 1023;

int thread_count(int wanted) {
  if (wanted < 0 || wanted > kMaxThreads) {
    throw UserError(
        fmt::format("the number of threads is {}, but must be in 0 .. {}", wanted, kMaxThreads));
  }
  return wanted > 0 ? wanted : std::min(ThreadPool::available_processors(), kMaxThreads);
}

/// Null for the processor.
std::unique_ptr<DeviceQueue> open_device(const Model& model, const std::string& device) {
  if (!device.empty() && device != "cpu") return model.device_program(device)->make_queue();
  if (!model.runs_on_cpu()) {
    throw EnvironmentError(
        fmt::format("the model has code only for {}; ask for one of these "
                    "devices, or compile it for 'cpu' too",
                    fmt::join(model.devices(), ", ")));
  }
  return nullptr;
}

Tensor checked_input(const InputTensor& input, const format::EntryValue& expected) {
  const auto fail = [&](const std::string& what) {
    throw UserError(fmt::format("error[bad_input]: input '{}': {}", expected.name, what));
  };
  if (input.dims.size() > format::kMaxRank) {
    fail(fmt::format("rank {} is above {}", input.dims.size(), format::kMaxRank));
  }
  for (size_t i = 0; i < input.dims.size(); ++i) {
    if (input.dims[i] < 0) {
      fail(fmt::format("dimension {} is {}, which is negative", i, input.dims[i]));
    }
  }
  if (static_cast<int>(input.dtype) >= kNumDTypes) fail("its element type is unknown");
  Tensor t;
  t.set_shape(input.dtype, input.dims);
  if (!input.data && t.bytes > 0) fail("it has elements but no data");
  if (reinterpret_cast<uintptr_t>(input.data) % static_cast<uintptr_t>(size_of(t.dtype)) != 0) {
    fail(fmt::format("its data is not aligned to {} bytes", size_of(t.dtype)));
  }
  // Parameters are never written; kernels take all their buffers through one type.
  t.data = static_cast<std::byte*>(const_cast<void*>(input.data));
  return t;
}

}  // namespace

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : Session(model, options, open_device(*model, options.device)) {}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options,
                 std::unique_ptr<DeviceQueue> device)
    : machine_(std::move(model), thread_count(options.threads), std::move(device)) {
  machine_.set_profiling(options.profile);
}

void Session::run(std::span<const InputTensor> inputs, std::span<const OutputMemory> outputs) {
  const format::Program& program = model().program();
  outputs_.clear();
  inputs_.clear();
  if (inputs.size() != program.inputs.size()) {
    throw UserError(fmt::format("error[bad_input]: the model takes {} inputs, not {}",
                                program.inputs.size(), inputs.size()));
  }
  if (!outputs.empty() && outputs.size() != program.outputs.size()) {
    throw UserError(fmt::format("error[bad_input]: the model has {} outputs, not {}",
                                program.outputs.size(), outputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.push_back(checked_input(inputs[i], program.inputs[i]));
  }
  struct EndRun {  // also after an error
    Machine& machine;
    ~EndRun() { machine.end_run(); }
  };
  std::vector<Tensor> results;
  const EndRun end{machine_};
  machine_.run(inputs_, outputs, results);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].data) continue;
    Tensor& t = results[i];
    if (t.data == outputs[i].data) continue;
    if (static_cast<size_t>(t.bytes) > outputs[i].bytes) {
      throw UserError(
          fmt::format("error[bad_input]: output '{}' is {}, which takes {} bytes, but the caller's "
                      "memory has {}",
                      program.outputs[i].name, describe(t), t.bytes, outputs[i].bytes));
    }
    if (t.bytes > 0) std::memcpy(outputs[i].data, t.data, static_cast<size_t>(t.bytes));
    t.data = static_cast<std::byte*>(outputs[i].data);
    t.owner = {};
  }
  outputs_ = std::move(results);
}

OutputTensor Session::output(size_t index) const {
  SYMTILE_CHECK(index < outputs_.size(), "output {} of {}", index, outputs_.size());
  const Tensor& t = outputs_[index];
  return {t.dtype, t.dims(), t.data, static_cast<size_t>(t.bytes)};
}

void Session::trim() {
  outputs_.clear();
  machine_.trim();
}

}  // namespace symtile
