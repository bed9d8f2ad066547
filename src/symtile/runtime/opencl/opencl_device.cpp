#include "symtile/runtime/opencl/opencl_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "symtile/base/check.h"
#include "symtile/runtime/opencl/opencl_api.h"

namespace symtile {
namespace {

using namespace opencl;

/// Buffers of 0 bytes do not exist.
constexpr size_t kMinBytes = 64;
/// Of a compiler's messages, as much as a person wants to read.
constexpr size_t kMaxLog = 4000;

/// Owns an object of the library.
template <typename T, Int (*Api::*Release)(T)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_) (api().*Release)(object_);
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};

using OwnedContext = Owned<Context, &Api::clReleaseContext>;
using OwnedQueue = Owned<Queue, &Api::clReleaseCommandQueue>;
using OwnedMemory = Owned<Memory, &Api::clReleaseMemObject>;
using OwnedProgram = Owned<Program, &Api::clReleaseProgram>;
using OwnedKernel = Owned<Kernel, &Api::clReleaseKernel>;

template <typename T>
T device_number(Device device, UInt key) {
  T out{};
  check(api().clGetDeviceInfo(device, key, sizeof out, &out, nullptr), "clGetDeviceInfo");
  return out;
}

std::string device_text(Device device, UInt key) {
  size_t bytes = 0;
  check(api().clGetDeviceInfo(device, key, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::string out(bytes, '\0');
  check(api().clGetDeviceInfo(device, key, bytes, out.data(), nullptr), "clGetDeviceInfo");
  out.resize(std::strlen(out.c_str()));
  return out;
}

std::string device_name(Device device) { return device_text(device, kDeviceName); }

/// PoCL from version 6 on has LLVM end the process when one of its passes would need another turn.
bool must_not_optimise(Device device) {
  if (device_text(device, kDeviceVersion).find("PoCL") == std::string::npos) return false;
  return std::strtol(device_text(device, kDriverVersion).c_str(), nullptr, 10) >= 6;
}

/// Throws EnvironmentError when there is none.
Device choose_device() {
  UInt count = 0;
  std::vector<Platform> platforms;
  // A loader without any driver reports an error of its own.
  if (api().clGetPlatformIDs(0, nullptr, &count) == kSuccess && count > 0) {
    platforms.resize(count);
    check(api().clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  }
  for (const Bits kind : {kDeviceGpu, kDeviceAccelerator, kDeviceAll}) {
    for (Platform platform : platforms) {
      Device device = nullptr;
      if (api().clGetDeviceIDs(platform, kind, 1, &device, &count) == kSuccess && count > 0) {
        return device;
      }
    }
  }
  throw EnvironmentError(
      "OpenCL shows no device on this machine. Install the OpenCL driver of the GPU, or the "
      "package pocl-opencl-icd, which runs OpenCL on the processor");
}

class OpenclMemory final : public DeviceMemory {
 public:
  OpenclMemory(Context context, Bits flags, size_t bytes, const void* contents = nullptr)
      : bytes_(std::max(bytes, kMinBytes)) {
    Int code = kSuccess;
    memory_ = OwnedMemory(
        api().clCreateBuffer(context, flags, bytes_, const_cast<void*>(contents), &code));
    if (code != kSuccess) {
      throw EnvironmentError(
          fmt::format("OpenCL: cannot allocate {} bytes on the device ({})", bytes_, code));
    }
  }
  size_t bytes() const override { return bytes_; }
  Memory get() const { return memory_.get(); }

 private:
  size_t bytes_;
  OwnedMemory memory_;
};

Memory memory_of(const DevicePlace& place) {
  return static_cast<OpenclMemory*>(place.memory)->get();
}
size_t offset_of(const DevicePlace& place) { return static_cast<size_t>(place.offset); }

class OpenclProgram final : public DeviceProgram,
                            public std::enable_shared_from_this<OpenclProgram> {
 public:
  OpenclProgram(const format::DeviceInfo& info, std::string_view text,
                std::span<const std::byte> constants)
      : info_(info), device_(choose_device()) {
    Int code = kSuccess;
    context_ = OwnedContext(api().clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code));
    check(code, "clCreateContext");
    check_group_sizes();
    build(text);
    if (constants.empty()) {
      constants_ = std::make_unique<OpenclMemory>(context(), kReadOnly, 0);
    } else {
      constants_ = std::make_unique<OpenclMemory>(context(), kReadOnly | kCopyHostPointer,
                                                  constants.size(), constants.data());
    }
  }

  std::unique_ptr<DeviceQueue> make_queue() override;

  const format::DeviceInfo& info() const { return info_; }
  Device device() const { return device_; }
  Context context() const { return context_.get(); }
  Program program() const { return program_.get(); }
  OpenclMemory& constants() const { return *constants_; }

 private:
  void check_group_sizes() const {
    const auto limit = device_number<size_t>(device_, kDeviceMaxWorkGroupSize);
    for (const format::DeviceKernel& kernel : info_.kernels) {
      for (const format::DeviceLaunch& launch : kernel.launches) {
        if (launch.threads <= limit) continue;
        throw EnvironmentError(
            fmt::format("OpenCL: '{}' needs groups of {} work-items, but {} "
                        "allows {}",
                        launch.name, launch.threads, device_name(device_), limit));
      }
    }
  }

  void build(std::string_view text) {
    const char* data = text.data();
    const size_t size = text.size();
    Int code = kSuccess;
    program_ = OwnedProgram(api().clCreateProgramWithSource(context(), 1, &data, &size, &code));
    check(code, "clCreateProgramWithSource");
    std::string options = "-w -cl-std=CL1.2";
    if (device_number<Bits>(device_, kDeviceSingleFpConfig) & kCorrectlyRoundedDivideSqrt) {
      options += " -cl-fp32-correctly-rounded-divide-sqrt";
    }
    if (must_not_optimise(device_)) options += " -cl-opt-disable";
    code = api().clBuildProgram(program(), 1, &device_, options.c_str(), nullptr, nullptr);
    if (code == kSuccess) return;
    size_t bytes = 0;
    (void)api().clGetProgramBuildInfo(program(), device_, kProgramBuildLog, 0, nullptr, &bytes);
    std::string log(bytes, '\0');
    (void)api().clGetProgramBuildInfo(program(), device_, kProgramBuildLog, bytes, log.data(),
                                      nullptr);
    log.resize(std::min({std::strlen(log.c_str()), log.size(), kMaxLog}));
    throw EnvironmentError(
        fmt::format("OpenCL: the driver of {} cannot compile the kernels ({}): "
                    "{}",
                    device_name(device_), code, log));
  }

  const format::DeviceInfo& info_;  ///< of the model, which outlives this
  Device device_;
  OwnedContext context_;
  OwnedProgram program_;
  std::unique_ptr<OpenclMemory> constants_;
};

class OpenclQueue final : public DeviceQueue {
 public:
  explicit OpenclQueue(std::shared_ptr<OpenclProgram> program)
      : program_(std::move(program)), kernels_(program_->info().kernels.size()) {
    Int code = kSuccess;
    queue_ =
        OwnedQueue(api().clCreateCommandQueue(program_->context(), program_->device(), 0, &code));
    check(code, "clCreateCommandQueue");
  }

  ~OpenclQueue() override { (void)api().clFinish(queue()); }

  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override {
    return std::make_unique<OpenclMemory>(program_->context(), kReadWrite, bytes);
  }
  DeviceMemory& constants() override { return program_->constants(); }

  void write(DevicePlace to, const void* host, size_t bytes) override {
    if (bytes == 0) return;
    check(api().clEnqueueWriteBuffer(queue(), memory_of(to), 1, offset_of(to), bytes, host, 0,
                                     nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }
  void read(DevicePlace from, void* host, size_t bytes) override {
    if (bytes == 0) return;
    check(api().clEnqueueReadBuffer(queue(), memory_of(from), 1, offset_of(from), bytes, host, 0,
                                    nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  void copy(DevicePlace to, DevicePlace from, size_t bytes) override {
    if (bytes == 0) return;
    const int64_t apart =
        to.offset > from.offset ? to.offset - from.offset : from.offset - to.offset;
    if (to.memory == from.memory && static_cast<size_t>(apart) < bytes) {
      const std::unique_ptr<DeviceMemory> between = allocate(bytes);
      copy({between.get(), 0}, from, bytes);
      copy(to, {between.get(), 0}, bytes);
      return;
    }
    check(api().clEnqueueCopyBuffer(queue(), memory_of(from), memory_of(to), offset_of(from),
                                    offset_of(to), bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
  }
  std::byte* map(DevicePlace place, size_t bytes, bool for_writing) override {
    Int code = kSuccess;
    void* out = api().clEnqueueMapBuffer(
        queue(), memory_of(place), 1, for_writing ? kMapRead | kMapWrite : kMapRead,
        offset_of(place), std::max<size_t>(bytes, 1), 0, nullptr, nullptr, &code);
    check(code, "clEnqueueMapBuffer");
    return static_cast<std::byte*>(out);
  }
  void unmap(DevicePlace place, std::byte* host) override {
    check(api().clEnqueueUnmapMemObject(queue(), memory_of(place), host, 0, nullptr, nullptr),
          "clEnqueueUnmapMemObject");
  }

  void launch(uint32_t kernel, std::span<const DevicePlace> buffers,
              std::span<const int64_t> symbols) override {
    const format::DeviceKernel& entry = program_->info().kernels[kernel];
    if (entry.has_workspace) reserve_workspace(entry, symbols);
    kernels_[kernel].resize(entry.launches.size());
    for (size_t i = 0; i < entry.launches.size(); ++i) {
      const format::DeviceLaunch& launch = entry.launches[i];
      const int64_t blocks = format::evaluate(launch.blocks, symbols);
      if (blocks <= 0) continue;
      OwnedKernel& code = kernels_[kernel][i];
      if (!code.get()) code = make_kernel(launch.name);
      set_arguments(code.get(), entry, buffers, symbols);
      const size_t local = launch.threads;
      const size_t global = static_cast<size_t>(blocks) * local;
      check(api().clEnqueueNDRangeKernel(queue(), code.get(), 1, nullptr, &global, &local, 0,
                                         nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    }
  }
  void finish() override { check(api().clFinish(queue()), "clFinish"); }
  size_t held_bytes() const override { return workspace_ ? workspace_->bytes() : 0; }
  void trim() override { workspace_.reset(); }

 private:
  Queue queue() const { return queue_.get(); }

  void reserve_workspace(const format::DeviceKernel& entry, std::span<const int64_t> symbols) {
    const int64_t bytes = std::max<int64_t>(format::evaluate(entry.workspace_bytes, symbols), 0);
    if (workspace_ && workspace_->bytes() >= static_cast<size_t>(bytes)) return;
    workspace_.reset();
    workspace_ =
        std::make_unique<OpenclMemory>(program_->context(), kReadWrite, static_cast<size_t>(bytes));
  }

  OwnedKernel make_kernel(const std::string& name) {
    Int code = kSuccess;
    OwnedKernel out(api().clCreateKernel(program_->program(), name.c_str(), &code));
    if (code != kSuccess) {
      throw EnvironmentError(fmt::format(
          "OpenCL: {} cannot run the kernel '{}' ({}); kernels with 64-bit floats need a "
          "device that has them",
          device_name(program_->device()), name, code));
    }
    return out;
  }

  void set_arguments(Kernel kernel, const format::DeviceKernel& entry,
                     std::span<const DevicePlace> buffers, std::span<const int64_t> symbols) {
    UInt index = 0;
    const auto set = [&](const void* value, size_t bytes) {
      check(api().clSetKernelArg(kernel, index++, bytes, value), "clSetKernelArg");
    };
    for (const DevicePlace& place : buffers) {
      const Memory memory = memory_of(place);
      set(&memory, sizeof memory);
      set(&place.offset, sizeof place.offset);
    }
    if (entry.has_workspace) {
      const Memory memory = workspace_->get();
      set(&memory, sizeof memory);
    }
    for (const int64_t& symbol : symbols) set(&symbol, sizeof symbol);
  }

  std::shared_ptr<OpenclProgram> program_;
  OwnedQueue queue_;
  std::vector<std::vector<OwnedKernel>> kernels_;  ///< by kernel and launch; made at first use
  std::unique_ptr<OpenclMemory> workspace_;
};

std::unique_ptr<DeviceQueue> OpenclProgram::make_queue() {
  return std::make_unique<OpenclQueue>(shared_from_this());
}

}  // namespace

std::shared_ptr<DeviceProgram> make_opencl_program(const format::DeviceInfo& info,
                                                   std::string_view text,
                                                   std::span<const std::byte> constants) {
  return std::make_shared<OpenclProgram>(info, text, constants);
}

std::string why_no_opencl() {
  try {
    (void)choose_device();
    return {};
  } catch (const EnvironmentError& e) {
    return e.what();
  }
}

}  // namespace symtile
