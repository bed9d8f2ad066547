#include "symtile/target/gpu_target.h"

namespace symtile {

const GpuTarget& opencl_target() {
  static const GpuTarget target = {.name = "opencl"};
  return target;
}

std::optional<GpuTarget> parse_gpu_target(std::string_view name) {
  if (name == opencl_target().name) return opencl_target();
  return std::nullopt;
}

}  // namespace symtile
