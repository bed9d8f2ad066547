#include "symtile/runtime/machine.h"

#include <algorithm>

#include "symtile/base/check.h"

namespace symtile {

Machine::Machine(std::shared_ptr<const Model> model, int threads,
                 std::unique_ptr<DeviceQueue> device)
    : model_(std::move(model)),
      device_(std::move(device)),
      heap_(device_.get()),
      pool_(threads),
      scratch_(static_cast<size_t>(threads)) {
  for (const format::KernelInfo& k : model_->program().kernels) profile_.push_back({k.name});
  for (const std::string& b : model_->program().builtins) profile_.push_back({b});
}

void Machine::set_profiling(bool on) {
  profiling_ = on;
  for (CallProfile& p : profile_) p.calls = p.nanoseconds = 0;
}

void Machine::add_time(size_t entry, std::chrono::steady_clock::time_point begin) {
  const auto spent = std::chrono::steady_clock::now() - begin;
  ++profile_[entry].calls;
  profile_[entry].nanoseconds +=
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
}

size_t Machine::held_bytes() const {
  size_t total = heap_.bytes() + host_heap_.bytes() + (device_ ? device_->held_bytes() : 0);
  for (const auto& f : frames_) {
    total += f->arena.capacity() + (f->device_arena ? f->device_arena->bytes() : 0);
  }
  for (const AlignedBuffer& s : scratch_) total += s.capacity();
  return total;
}

void Machine::trim() {
  heap_.trim();
  host_heap_.trim();
  if (device_) device_->trim();
  for (const auto& f : frames_) {
    f->arena.release();
    f->device_arena.reset();
  }
  for (AlignedBuffer& s : scratch_) s.release();
}

void Machine::run(std::span<const Tensor> inputs, std::span<const OutputMemory> outputs,
                  std::vector<Tensor>& results) {
  depth_ = 0;
  if (device_) return run_on_device(inputs, outputs, results);
  output_memory_ = outputs;
  execute(model_->program().entry.value, inputs, {}, results);
}

Machine::Frame& Machine::frame(size_t depth) {
  while (frames_.size() <= depth) frames_.push_back(std::make_unique<Frame>());
  return *frames_[depth];
}

void Machine::execute(uint32_t function, std::span<const Tensor> args,
                      std::span<const int64_t> dims, std::vector<Tensor>& results) {
  Frame& f = frame(depth_);
  f.function = &model_->program().functions[function];
  f.registers.resize(std::max<size_t>(f.registers.size(), f.function->registers));
  f.slots.assign(f.function->slot_names.size(), 0);
  f.arena_bytes = 0;
  std::copy(dims.begin(), dims.end(), f.slots.begin());
  for (size_t i = 0; i < args.size(); ++i) {
    f.registers[i] = args[i];
    f.registers[i].owner = {};  // a parameter is borrowed: never returned without a copy
  }
  struct Leave {  // also when an error passes through
    Machine& machine;
    Frame& frame;
    ~Leave() {
      --machine.depth_;
      for (Tensor& t : frame.registers) t.owner = {};
    }
  };
  ++depth_;
  const Leave leave{*this, f};
  execute_code(f, results);
}

void Machine::execute_code(Frame& f, std::vector<Tensor>& results) {
  for (const format::Instruction& instruction : f.function->code) {
    if (const auto* done = std::get_if<format::Return>(&instruction)) {
      give_results(f, *done, results);
      return;
    }
    std::visit(
        [&](const auto& op) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(op)>, format::Return>) step(f, op);
        },
        instruction);
  }
}

void Machine::give_results(Frame& f, const format::Return& op, std::vector<Tensor>& results) {
  // Results share memory with nothing: whoever receives them may overwrite them in place.
  results.resize(op.values.size());
  for (size_t i = 0; i < op.values.size(); ++i) {
    const Tensor& value = at(f, op.values[i]);
    bool owned = static_cast<bool>(value.owner);
    for (size_t k = 0; k < i; ++k) owned = owned && results[k].owner.get() != value.owner.get();
    results[i] = owned ? value : heap_copy(value);
  }
}

std::string Machine::values_text(const Frame& f, const format::Formula& formula) const {
  std::string out;
  std::vector<int64_t> seen;
  for (const format::FormulaStep& step : formula.steps) {
    if (step.code != format::FormulaCode::slot) continue;
    if (std::find(seen.begin(), seen.end(), step.operand) != seen.end()) continue;
    seen.push_back(step.operand);
    const auto slot = static_cast<size_t>(step.operand);
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", f.function->slot_names[slot],
                       f.slots[slot]);
  }
  return out;
}

}  // namespace symtile
