#include "symtile/target/cpu_target.h"

#include <array>

#include "symtile/base/check.h"

namespace symtile {
namespace {

constexpr size_t kLevels = 5;

}  // namespace

const CpuTarget& cpu_target(CpuLevel level) {
  static const std::array<CpuTarget, kLevels> targets = {
      CpuTarget{CpuLevel::x86_64_v2, "x86_64-unknown-linux-gnu", "x86-64-v2", "", 16, 16, false},
      CpuTarget{CpuLevel::x86_64_v3, "x86_64-unknown-linux-gnu", "x86-64-v3", "", 32, 16, true},
      CpuTarget{CpuLevel::x86_64_v4, "x86_64-unknown-linux-gnu", "x86-64-v4",
                "-prefer-256-bit,+prefer-no-gather", 64, 32, true},
      CpuTarget{CpuLevel::x86_64_v4_vnni, "x86_64-unknown-linux-gnu", "x86-64-v4",
                "-prefer-256-bit,+prefer-no-gather,+avx512vnni", 64, 32, true, true},
      CpuTarget{CpuLevel::armv8, "aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32, true},
  };
  return targets[static_cast<size_t>(level)];
}

std::string_view name_of(CpuLevel level) {
  constexpr std::array<std::string_view, kLevels> names = {"x86-64-v2", "x86-64-v3", "x86-64-v4",
                                                           "x86-64-v4-vnni", "armv8"};
  return names[static_cast<size_t>(level)];
}

std::optional<CpuLevel> parse_cpu_level(std::string_view name) {
  for (size_t i = 0; i < kLevels; ++i) {
    const std::string_view full = name_of(static_cast<CpuLevel>(i));
    if (name == full || (full.starts_with("x86-64-") && name == full.substr(7))) {
      return static_cast<CpuLevel>(i);
    }
  }
  return std::nullopt;
}

CpuLevel native_cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return __builtin_cpu_supports("avx512vnni") ? CpuLevel::x86_64_v4_vnni : CpuLevel::x86_64_v4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return CpuLevel::x86_64_v3;
  return CpuLevel::x86_64_v2;
#elif defined(__aarch64__)
  return CpuLevel::armv8;
#else
#error "symtile runs on x86-64 and AArch64"
#endif
}

}  // namespace symtile
