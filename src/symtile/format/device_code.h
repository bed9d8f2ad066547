// Kernels for a device with work-groups: program text, and how each kernel of the program launches.
//
// A kernel is one or more launches in order. Each takes, in order: for every buffer its memory
// object and an i64 offset in bytes; the workspace, if the kernel has one; the symbols as i64.
#pragma once

#include "symtile/format/program.h"

namespace symtile::format {

struct DeviceLaunch {
  std::string name;      ///< of the kernel function in the text
  Formula blocks;        ///< work-groups, over the kernel's symbols; 0 or less: nothing to do
  uint32_t threads = 1;  ///< work-items in a group
  SYMTILE_FORMAT_FIELDS(f("name", self.name); f("blocks", self.blocks); f("threads", self.threads);)
  friend bool operator==(const DeviceLaunch&, const DeviceLaunch&) = default;
};

struct DeviceKernel {
  std::vector<DeviceLaunch> launches;
  bool has_workspace = false;
  Formula workspace_bytes;
  SYMTILE_FORMAT_FIELDS(f("launches", self.launches); f("has_workspace", self.has_workspace);
                        f("workspace_bytes", self.workspace_bytes);)
  friend bool operator==(const DeviceKernel&, const DeviceKernel&) = default;
};

/// Everything about the code for one kind of device except the text.
struct DeviceInfo {
  std::string device;                 ///< "opencl"
  std::vector<DeviceKernel> kernels;  ///< in the order of Program::kernels
  SYMTILE_FORMAT_FIELDS(f("device", self.device); f("kernels", self.kernels);)
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

/// No device allows more work-items in a group.
inline constexpr uint32_t kMaxBlockThreads = 1024;

}  // namespace symtile::format
