// The device kind "opencl": the first GPU of this machine that OpenCL shows, else the first
// accelerator, else its processor.
#pragma once

#include "symtile/runtime/device.h"

namespace symtile {

std::shared_ptr<DeviceProgram> make_opencl_program(const format::DeviceInfo& info,
                                                   std::string_view text,
                                                   std::span<const std::byte> constants);
std::string why_no_opencl();

}  // namespace symtile
