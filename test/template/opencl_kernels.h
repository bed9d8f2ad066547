// For tests: kernels compiled as one OpenCL program, each run by itself.
#pragma once

#include "symtile/backend/opencl/print_opencl.h"
#include "symtile/op/ref_tensor.h"
#include "symtile/runtime/device.h"

namespace symtile::test {

class OpenclKernels {
 public:
  explicit OpenclKernels(std::vector<TileFunction> scheduled);
  /// Results as the buffers of `compute`, the compute form of kernel `index`.
  std::vector<RefTensor> run(size_t index, const TileFunction& compute, const DimValues& shape,
                             const std::vector<RefTensor>& inputs);

 private:
  std::vector<TileFunction> scheduled_;
  OpenclCode code_;
  format::DeviceInfo info_;
  std::shared_ptr<DeviceProgram> program_;
  std::unique_ptr<DeviceQueue> queue_;
};

}  // namespace symtile::test
