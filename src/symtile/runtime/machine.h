// The virtual machine: runs functions of a program. One per session; not re-entrant by itself.
//
// After the first call at a shape it allocates nothing: frames, arenas, scratch and heap blocks are
// kept. Every function call of nesting depth d uses arena d; results are copied out of it. With a
// device, tensors live there and kernels run there; machine_device.cpp has what differs.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symtile/runtime/model.h"
#include "symtile/runtime/tensor.h"
#include "symtile/runtime/thread_pool.h"

namespace symtile {

struct CallProfile {
  std::string name;
  uint64_t calls = 0;
  uint64_t nanoseconds = 0;
};

/// Memory of the caller for one output; null: the session provides it.
struct OutputMemory {
  void* data = nullptr;
  size_t bytes = 0;
};

class Machine {
 public:
  /// `device`: null for this processor.
  Machine(std::shared_ptr<const Model> model, int threads,
          std::unique_ptr<DeviceQueue> device = nullptr);

  /// Runs the entry function. The results are owned tensors, in caller memory where given.
  void run(std::span<const Tensor> inputs, std::span<const OutputMemory> outputs,
           std::vector<Tensor>& results);

  const Model& model() const { return *model_; }
  int threads() const { return pool_.threads(); }
  void set_profiling(bool on);
  /// One entry a kernel, then one a builtin.
  const std::vector<CallProfile>& profile() const { return profile_; }
  /// Bytes held now: arenas, heap blocks and scratch.
  size_t held_bytes() const;
  /// Ends a run for the heap pool; `results` of it may still be alive.
  void end_run() {
    heap_.end_run();
    host_heap_.end_run();
  }
  void trim();

 private:
  struct Frame {
    std::vector<Tensor> registers;
    std::vector<int64_t> slots;
    AlignedBuffer arena;
    std::unique_ptr<DeviceMemory> device_arena;
    int64_t arena_bytes = 0;
    const format::Function* function = nullptr;
    // Operands of a nested call, kept here so that their storage is reused.
    std::vector<Tensor> args, results;
    std::vector<int64_t> dims;
  };

  void execute(uint32_t function, std::span<const Tensor> args, std::span<const int64_t> dims,
               std::vector<Tensor>& results);
  void execute_code(Frame& f, std::vector<Tensor>& results);

  // One overload an instruction: machine_tensors.cpp, machine_launch.cpp, machine_control.cpp.
  void step(Frame& f, const format::BindDims& op);
  void step(Frame& f, const format::EvalDim& op);
  void step(Frame& f, const format::CheckDims& op);
  void step(Frame& f, const format::Arena& op);
  void step(Frame& f, const format::ArenaTensor& op);
  void step(Frame& f, const format::HeapTensor& op);
  void step(Frame& f, const format::ViewTensor& op);
  void step(Frame& f, const format::ConstantTensor& op);
  void step(Frame& f, const format::Copy& op);
  void step(Frame& f, const format::Release& op);
  void step(Frame& f, const format::ReadDims& op);
  void step(Frame& f, const format::StoreDims& op);
  void step(Frame& f, const format::LaunchKernel& op);
  void step(Frame& f, const format::CallBuiltin& op);
  void step(Frame& f, const format::CallFunction& op);
  void step(Frame& f, const format::Branch& op);
  void step(Frame& f, const format::Loop& op);
  void give_results(Frame& f, const format::Return& op, std::vector<Tensor>& results);

  Frame& frame(size_t depth);
  Tensor& at(Frame& f, format::Def r) { return f.registers[r.value]; }
  const Tensor& at(Frame& f, format::Use r) { return f.registers[r.value]; }
  const format::Formula& formula(format::FormulaId id) const {
    return model_->program().formulas[id.value];
  }
  int64_t value(const Frame& f, format::FormulaId id) const {
    return format::evaluate(formula(id), f.slots);
  }
  /// "n = 2, m = 7": the symbols that the formula reads.
  std::string values_text(const Frame& f, const format::Formula& formula) const;
  void set_shape(const Frame& f, Tensor& t, format::ShapeId id) const;
  Tensor heap_tensor(DType dtype, std::span<const int64_t> dims);
  Tensor heap_copy(const Tensor& source);
  void call(Frame& f, format::FunctionId id, const std::vector<format::Use>& args,
            const std::vector<format::FormulaId>& dims, const std::vector<format::Def>& results);
  void add_time(size_t entry, std::chrono::steady_clock::time_point begin);
  void launch(const Model::Kernel& kernel);
  void copy_bytes(const Tensor& to, int64_t at, const Tensor& from, int64_t bytes);

  // machine_device.cpp: only with a device
  void run_on_device(std::span<const Tensor> inputs, std::span<const OutputMemory> outputs,
                     std::vector<Tensor>& results);
  void launch_on_device(Frame& f, const format::LaunchKernel& op);
  Tensor to_device(const Tensor& host);

  std::shared_ptr<const Model> model_;
  std::unique_ptr<DeviceQueue> device_;
  HeapPool heap_;       // outlives every tensor below
  HeapPool host_heap_;  ///< with a device: results, and operands of library calls
  ThreadPool pool_;
  std::vector<std::unique_ptr<Frame>> frames_;
  size_t depth_ = 0;
  std::span<const OutputMemory> output_memory_;
  std::vector<AlignedBuffer> scratch_;  ///< one a thread
  std::vector<void*> buffers_;
  std::vector<DevicePlace> places_;
  std::vector<Tensor> device_inputs_;
  std::vector<int64_t> symbols_;
  int64_t launch_bytes_ = 0;  ///< of all buffers of the kernel about to run
  bool profiling_ = false;
  std::vector<CallProfile> profile_;
};

}  // namespace symtile
