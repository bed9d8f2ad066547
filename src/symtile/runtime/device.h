// A device that runs the kernels of a program in place of this processor: memory of its own, and a
// queue of commands that run in order.
//
// The virtual machine stays here; it only asks the queue to copy, launch and show memory. What a
// model needs of a device (its compiled program, its constants) is made once and shared by all
// sessions; each session has a queue. A new device is one line of the table in device.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "symtile/format/device_code.h"

namespace symtile {

/// One allocation; released when it is destroyed and no queued command uses it any more.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual size_t bytes() const = 0;
};

struct DevicePlace {
  DeviceMemory* memory = nullptr;
  int64_t offset = 0;
};

/// All failures are EnvironmentErrors. Sizes may be 0.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  virtual std::unique_ptr<DeviceMemory> allocate(size_t bytes) = 0;
  /// The constants section of the model.
  virtual DeviceMemory& constants() = 0;
  /// These return when `host` may be reused, or has the bytes.
  virtual void write(DevicePlace to, const void* host, size_t bytes) = 0;
  virtual void read(DevicePlace from, void* host, size_t bytes) = 0;
  /// Overlapping regions are copied as if all bytes were read first.
  virtual void copy(DevicePlace to, DevicePlace from, size_t bytes) = 0;
  /// Makes the bytes visible to this processor, in order with the commands before, until unmap.
  virtual std::byte* map(DevicePlace place, size_t bytes, bool for_writing) = 0;
  virtual void unmap(DevicePlace place, std::byte* host) = 0;
  /// `kernel` is its index in the program.
  virtual void launch(uint32_t kernel, std::span<const DevicePlace> buffers,
                      std::span<const int64_t> symbols) = 0;
  /// Waits for everything queued.
  virtual void finish() = 0;
  /// Bytes of workspaces held.
  virtual size_t held_bytes() const = 0;
  virtual void trim() = 0;
};

/// The code and constants of one model on one device. Thread-safe.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual std::unique_ptr<DeviceQueue> make_queue() = 0;
};

/// Compiles `text` for the device kind `info.device`; `constants` must outlive the result. Throws
/// EnvironmentError when this machine has no such device, with what to install.
std::shared_ptr<DeviceProgram> make_device_program(const format::DeviceInfo& info,
                                                   std::string_view text,
                                                   std::span<const std::byte> constants);

/// Empty when this machine has a device of that kind; else why not.
std::string why_no_device(std::string_view kind);

}  // namespace symtile
