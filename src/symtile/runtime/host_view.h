// The bytes of a tensor as this processor sees them, wherever it lives.
#pragma once

#include <utility>

#include "symtile/runtime/tensor.h"

namespace symtile {

/// Maps the memory of a tensor on a device while it lives; of another tensor it is the memory.
class HostView {
 public:
  enum class Access : uint8_t { read, write };

  HostView(DeviceQueue* device, const Tensor& tensor, Access access = Access::read)
      : tensor_(tensor) {
    if (!tensor.is_remote()) return;
    device_ = device;
    tensor_.data =
        device->map(tensor.place, static_cast<size_t>(tensor.bytes), access == Access::write);
  }
  HostView(HostView&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), tensor_(std::move(other.tensor_)) {}
  HostView& operator=(HostView&&) = delete;
  ~HostView() {
    if (!device_) return;
    try {
      device_->unmap(tensor_.place, tensor_.data);
    } catch (const std::exception&) {
      // The next command of the queue reports that the device is lost.
    }
  }

  const Tensor& tensor() const { return tensor_; }
  std::byte* data() const { return tensor_.data; }

 private:
  DeviceQueue* device_ = nullptr;
  Tensor tensor_;
};

}  // namespace symtile
