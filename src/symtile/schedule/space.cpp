#include "symtile/schedule/space.h"

#include <fmt/format.h>

#include <optional>

#include "symtile/base/check.h"
#include "symtile/schedule/cpu/contraction_tile.h"
#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/schedule.h"
#include "symtile/transform/tile/results.h"

namespace symtile {
namespace {

/// A template's space: nullopt for a function that the template does not claim.
template <typename Target>
using Candidates = std::optional<std::vector<ScheduleCandidate>> (*)(const TileFunction&,
                                                                     const Target&);

/// One line a template with parameters, in the order of preference of schedule.cpp:
///   contraction_candidates,
const std::vector<Candidates<CpuTarget>> kCpuSpaces = {
    contraction_candidates,
};
const std::vector<Candidates<GpuTarget>> kGpuSpaces = {
    gpu::contraction_candidates,
};

template <typename Target>
std::vector<ScheduleCandidate> ask(const std::vector<Candidates<Target>>& spaces,
                                   const TileFunction& f, const Target& target,
                                   ScheduleCandidate rule) {
  for (const auto candidates : spaces) {
    auto space = candidates(f, target);
    if (!space) continue;
    SYMTILE_CHECK(!space->empty() && space->size() <= kMaxCandidates,
                  "the schedule space of '{}' has {} candidates", f.name, space->size());
    return *std::move(space);
  }
  return {std::move(rule)};
}

}  // namespace

std::string ScheduleCandidate::str() const {
  std::string out = name;
  for (const auto& [parameter, value] : parameters) out += fmt::format(" {}={}", parameter, value);
  return out;
}

std::vector<ScheduleCandidate> schedule_space(const TileFunction& f, const CpuTarget& target) {
  return ask(kCpuSpaces, join_results(f).value_or(f), target, {schedule_name(f, target), {}});
}

std::vector<ScheduleCandidate> schedule_space(const TileFunction& f, const GpuTarget& target) {
  return ask(kGpuSpaces, join_results(f).value_or(f), target, {"rule", {}});
}

}  // namespace symtile
