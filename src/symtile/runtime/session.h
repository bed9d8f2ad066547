// Running a model: checks the caller's tensors, runs the entry function, keeps its outputs.
//
// A session belongs to one thread at a time; different sessions of one model run concurrently.
// Outputs stay valid until the next run, unless they are in memory of the caller.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symtile/runtime/machine.h"

namespace symtile {

struct SessionOptions {
  int threads = 0;  ///< 0: one for every processor this process may use
  bool profile = false;
  std::string device;  ///< "cpu" or the kind of a device; empty: cpu
};

struct InputTensor {
  DType dtype = DType::f32;
  std::span<const int64_t> dims;
  const void* data = nullptr;  ///< row-major; aligned to its element type
};

struct OutputTensor {
  DType dtype = DType::f32;
  std::span<const int64_t> dims;
  const void* data = nullptr;
  size_t bytes = 0;
};

class Session {
 public:
  explicit Session(std::shared_ptr<const Model> model, const SessionOptions& options = {});

  /// On a device that the model has no code section for; null: this processor.
  Session(std::shared_ptr<const Model> model, const SessionOptions& options,
          std::unique_ptr<DeviceQueue> device);

  /// `outputs` is empty or has one entry an output; an entry without memory leaves that output to
  /// the session. Memory of inputs and outputs must not overlap. Throws UserError when an input
  /// does not fit (it names the input, dimension, formula and values); the session stays usable.
  void run(std::span<const InputTensor> inputs, std::span<const OutputMemory> outputs = {});

  size_t num_outputs() const { return outputs_.size(); }
  OutputTensor output(size_t index) const;

  const Model& model() const { return machine_.model(); }
  int threads() const { return machine_.threads(); }
  /// Starts counting anew.
  void set_profiling(bool on) { machine_.set_profiling(on); }
  const std::vector<CallProfile>& profile() const { return machine_.profile(); }
  size_t held_bytes() const { return machine_.held_bytes(); }
  /// Gives cached memory back to the system, outputs included.
  void trim();

 private:
  Machine machine_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace symtile
