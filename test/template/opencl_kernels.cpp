#include "opencl_kernels.h"

#include "symtile/backend/vm/lower_program.h"

namespace symtile::test {

OpenclKernels::OpenclKernels(std::vector<TileFunction> scheduled)
    : scheduled_(std::move(scheduled)), code_(print_opencl(scheduled_)) {
  info_.device = "opencl";
  for (size_t i = 0; i < scheduled_.size(); ++i) {
    const std::vector<std::string>& symbols = scheduled_[i].symbols;
    const c_source::PrintedKernel& printed = code_.kernels[i];
    format::DeviceKernel& kernel = info_.kernels.emplace_back();
    kernel.has_workspace = !printed.workspace_bytes.is_const(0);
    kernel.workspace_bytes = lower_formula(printed.workspace_bytes, symbols);
    for (const c_source::PrintedLaunch& launch : printed.launches) {
      kernel.launches.push_back({launch.name, lower_formula(launch.blocks, symbols),
                                 static_cast<uint32_t>(launch.threads)});
    }
  }
  program_ = make_device_program(info_, code_.source, {});
  queue_ = program_->make_queue();
}

std::vector<RefTensor> OpenclKernels::run(size_t index, const TileFunction& compute,
                                          const DimValues& shape,
                                          const std::vector<RefTensor>& inputs) {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<DevicePlace> places;
  const auto place = [&](const ConstantData& data) {
    memory.push_back(queue_->allocate(data.bytes.size()));
    places.push_back({memory.back().get(), 0});
    queue_->write(places.back(), data.bytes.data(), data.bytes.size());
  };
  for (const RefTensor& t : inputs) place(*t.to_constant());
  std::vector<ConstantData> results;
  for (const Buffer& b : compute.outputs) {
    std::vector<int64_t> dims;
    for (const DimExpr& d : b.dims) dims.push_back(d.evaluate(shape));
    results.push_back(*RefTensor(b.dtype, dims).to_constant());
    place(results.back());
  }
  std::vector<int64_t> symbols;
  for (const std::string& s : compute.symbols) symbols.push_back(shape.at(s));
  queue_->launch(static_cast<uint32_t>(index), places, symbols);
  std::vector<RefTensor> out;
  for (size_t k = 0; k < results.size(); ++k) {
    queue_->read(places[inputs.size() + k], results[k].bytes.data(), results[k].bytes.size());
    out.push_back(RefTensor::from_constant(results[k]));
  }
  return out;
}

}  // namespace symtile::test
