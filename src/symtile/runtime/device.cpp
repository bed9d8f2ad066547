#include "symtile/runtime/device.h"

#include "symtile/base/check.h"
#include "symtile/runtime/opencl/opencl_device.h"

namespace symtile {
namespace {

struct DeviceKind {
  std::string_view name;
  std::shared_ptr<DeviceProgram> (*make_program)(const format::DeviceInfo&, std::string_view text,
                                                 std::span<const std::byte> constants);
  std::string (*why_not)();
};

constexpr DeviceKind kDevices[] = {
    {"opencl", make_opencl_program, why_no_opencl},
};

const DeviceKind& device_kind(std::string_view name) {
  std::string known = "cpu";
  for (const DeviceKind& kind : kDevices) {
    if (kind.name == name) return kind;
    known += fmt::format(", {}", kind.name);
  }
  throw UserError(fmt::format("error[unknown_name]: there is no device '{}'; the devices are: {}",
                              name, known));
}

}  // namespace

std::shared_ptr<DeviceProgram> make_device_program(const format::DeviceInfo& info,
                                                   std::string_view text,
                                                   std::span<const std::byte> constants) {
  return device_kind(info.device).make_program(info, text, constants);
}

std::string why_no_device(std::string_view kind) { return device_kind(kind).why_not(); }

}  // namespace symtile
