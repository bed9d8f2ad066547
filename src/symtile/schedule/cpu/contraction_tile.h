// The parameters of the contraction template, and all values of them worth trying on a CPU.
//
// They follow from vector width, registers and caches alone. The first candidate is the default.
#pragma once

#include "symtile/schedule/space.h"
#include "symtile/transform/tile/contraction.h"

namespace symtile {

struct ContractionTile {
  int64_t mr = 6;    ///< rows of the register tile
  int64_t nr = 16;   ///< columns of the register tile; divides kPanel
  int64_t kc = 256;  ///< reduction steps of a block: a strip of each operand stays in L1
  int64_t mc = 120;  ///< rows whose packed block stays in L2
  int64_t mt = 480;  ///< most rows of a task: it packs its columns once for all of them
  int64_t nc = 256;  ///< most columns of a task; a multiple of kPanel
};

/// At most kMaxCandidates; elements of type `acc` are accumulated.
std::vector<ContractionTile> contraction_tiles(const CpuTarget& target, DType acc);
ContractionTile default_tile(const CpuTarget& target, DType acc);

/// The space of a function that the template claims, for schedule_space.
std::optional<std::vector<ScheduleCandidate>> contraction_candidates(const TileFunction& f,
                                                                     const CpuTarget& target);

}  // namespace symtile
