// The schedule space of a kernel: every schedule that its template can make for one target.
//
// A space is hardware-centric: its parameters are tile sizes that follow from vector width,
// registers, caches and warps, never from the kernel's extents, so it is the same for every input
// size and small enough to be tried completely (at most kMaxCandidates). The first candidate is
// the one that is used without tuning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "symtile/ir/tile.h"
#include "symtile/target/cpu_target.h"
#include "symtile/target/gpu_target.h"

namespace symtile {

struct ScheduleCandidate {
  std::string name;  ///< of the template: "contraction", "rows", ...
  std::vector<std::pair<std::string, int64_t>> parameters;
  /// "contraction mr=6 nr=16 kc=256"
  std::string str() const;
  friend bool operator==(const ScheduleCandidate&, const ScheduleCandidate&) = default;
};

constexpr size_t kMaxCandidates = 200;

/// Never empty: a kernel that no template with parameters claims has its rule-based schedule.
std::vector<ScheduleCandidate> schedule_space(const TileFunction& f, const CpuTarget& target);
std::vector<ScheduleCandidate> schedule_space(const TileFunction& f, const GpuTarget& target);

}  // namespace symtile
