// What a CPU can do, as plain facts: schedules and code generation read nothing else.
//
// Levels are coarse on purpose: one artifact carries code for a few of them and the loader picks
// the best that the machine has. Cache sizes are typical values, not measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace symtile {

/// Ordered within an architecture: a higher level runs all lower ones.
/// x86_64_v4_vnni is x86-64-v4 with the dot products of AVX512-VNNI.
enum class CpuLevel : uint8_t { x86_64_v2, x86_64_v3, x86_64_v4, x86_64_v4_vnni, armv8 };

struct CpuTarget {
  CpuLevel level = CpuLevel::x86_64_v3;
  std::string triple;     ///< LLVM target triple
  std::string cpu;        ///< LLVM CPU name, e.g. "x86-64-v3"
  std::string features;   ///< LLVM feature string
  int vector_bytes = 32;  ///< width of one SIMD register
  int vector_registers = 16;
  bool has_fma = true;
  bool has_dot = false;  ///< one instruction adds the products of two pairs of i16 to an i32
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;

  int lanes(int64_t element_bytes) const { return static_cast<int>(vector_bytes / element_bytes); }
};

const CpuTarget& cpu_target(CpuLevel level);
/// "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "armv8".
std::string_view name_of(CpuLevel level);
/// Also accepts "v2", "v3", "v4", "v4-vnni"; nullopt otherwise.
std::optional<CpuLevel> parse_cpu_level(std::string_view name);
/// The best level of the machine this runs on.
CpuLevel native_cpu_level();

}  // namespace symtile
