// What differs when kernels run on a device: inputs go there first, results come back last.
#include "symtile/base/check.h"
#include "symtile/runtime/host_view.h"
#include "symtile/runtime/machine.h"

namespace symtile {

Tensor Machine::to_device(const Tensor& host) {
  Tensor t = heap_tensor(host.dtype, host.dims());
  device_->write(t.place, host.data, static_cast<size_t>(host.bytes));
  return t;
}

void Machine::run_on_device(std::span<const Tensor> inputs, std::span<const OutputMemory> outputs,
                            std::vector<Tensor>& results) {
  output_memory_ = {};  // memory of the caller is not the device's
  device_inputs_.clear();
  struct Clear {  // also when an error passes through
    std::vector<Tensor>& tensors;
    ~Clear() { tensors.clear(); }
  };
  const Clear clear{device_inputs_};
  for (const Tensor& t : inputs) device_inputs_.push_back(to_device(t));
  std::vector<Tensor> remote;
  execute(model_->program().entry.value, device_inputs_, {}, remote);
  results.resize(remote.size());
  for (size_t i = 0; i < remote.size(); ++i) {
    Tensor& t = results[i];
    t.set_shape(remote[i].dtype, remote[i].dims());
    const OutputMemory memory = i < outputs.size() ? outputs[i] : OutputMemory{};
    if (memory.data && memory.bytes >= static_cast<size_t>(t.bytes)) {
      t.owner = {};
      t.data = static_cast<std::byte*>(memory.data);
    } else {
      t.own(host_heap_.allocate(static_cast<size_t>(t.bytes)));
    }
    device_->read(remote[i].place, t.data, static_cast<size_t>(t.bytes));
  }
}

void Machine::launch_on_device(Frame& f, const format::LaunchKernel& op) {
  places_.clear();
  symbols_.clear();
  for (format::Use r : op.buffers) places_.push_back(at(f, r).place);
  for (format::FormulaId id : op.symbols) symbols_.push_back(value(f, id));
  if (!profiling_) return device_->launch(op.kernel.value, places_, symbols_);
  device_->finish();
  const auto begin = std::chrono::steady_clock::now();
  device_->launch(op.kernel.value, places_, symbols_);
  device_->finish();
  add_time(op.kernel.value, begin);
}

}  // namespace symtile
