// Which code sections of an artifact this machine can run.
#pragma once

#include <string_view>

namespace symtile {

/// Higher is better; 0 when the machine cannot run code of that level (or it is no CPU level).
int cpu_level_rank(std::string_view level);

/// The best level of this machine, for messages.
std::string_view best_cpu_level();

}  // namespace symtile
