#include "symtile/runtime/cpu_level.h"

#include <array>

namespace symtile {
namespace {

struct Level {
  std::string_view name;
  bool supported;
};

// In ascending order.
#if defined(__x86_64__)
std::array<Level, 4> levels() {
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool vnni = v4 && __builtin_cpu_supports("avx512vnni");
  return {{{"x86-64-v2", v2}, {"x86-64-v3", v3}, {"x86-64-v4", v4}, {"x86-64-v4-vnni", vnni}}};
}
#elif defined(__aarch64__)
std::array<Level, 1> levels() { return {{{"armv8", true}}}; }
#else
std::array<Level, 0> levels() { return {}; }
#endif

}  // namespace

int cpu_level_rank(std::string_view level) {
  int rank = 0;
  for (const Level& l : levels()) {
    ++rank;
    if (l.name == level) return l.supported ? rank : 0;
  }
  return 0;
}

std::string_view best_cpu_level() {
  std::string_view best = "an unknown level";
  for (const Level& l : levels()) {
    if (l.supported) best = l.name;
  }
  return best;
}

}  // namespace symtile
