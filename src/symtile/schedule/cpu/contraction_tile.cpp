#include "symtile/schedule/cpu/contraction_tile.h"

#include <algorithm>

#include "symtile/schedule/cpu/contraction.h"

namespace symtile {
namespace {

/// Registers besides the accumulators: the vectors of B and one broadcast of A; without FMA the
/// product too.
int64_t most_rows(const CpuTarget& t, int64_t vectors) {
  const int64_t spare = vectors + (t.has_fma ? 1 : 2);
  return std::max<int64_t>((t.vector_registers - spare) / vectors, 1);
}

int64_t lanes_of(const CpuTarget& t, DType acc) {
  return std::clamp<int64_t>(t.lanes(size_of(acc)), 1, kPanel);
}

}  // namespace

ContractionTile default_tile(const CpuTarget& t, DType acc) {
  ContractionTile tile;
  const int64_t lanes = lanes_of(t, acc);
  tile.nr = std::min<int64_t>(2 * lanes, kPanel);
  tile.mr = std::min<int64_t>(most_rows(t, std::max<int64_t>(tile.nr / lanes, 1)), 12);
  tile.mc = tile.mr * (120 / tile.mr);
  tile.mt = 4 * tile.mc;
  // A packed block of B, one of A and the tile of C stay in L2.
  tile.kc = std::clamp<int64_t>(t.l1_bytes / (tile.nr * size_of(acc)), 64, 256);
  tile.nc = 256;
  return tile;
}

std::vector<ContractionTile> contraction_tiles(const CpuTarget& t, DType acc) {
  const ContractionTile first = default_tile(t, acc);
  std::vector<ContractionTile> out{first};
  const int64_t lanes = lanes_of(t, acc);
  for (const int64_t vectors : {1, 2, 4}) {
    const int64_t nr = vectors * lanes;
    if (nr > kPanel) continue;
    const int64_t most = most_rows(t, vectors);
    for (const int64_t mr : {most, most * 2 / 3, most / 2}) {
      if (mr < 1 || mr > 24) continue;
      for (const int64_t kc : {128, 256, 512}) {
        for (const int64_t nc : {128, 256, 512}) {
          for (const int64_t blocks : {2, 4}) {
            const int64_t mc = mr * std::max<int64_t>(120 / mr, 1);
            ContractionTile tile{mr, nr, kc, mc, blocks * mc, nc};
            const auto same = [&](const ContractionTile& o) {
              return o.mr == tile.mr && o.nr == tile.nr && o.kc == tile.kc && o.nc == tile.nc &&
                     o.mt == tile.mt;
            };
            // The packed blocks of A and B and the tile of C.
            const int64_t bytes =
                (tile.kc * (tile.mc + tile.nc) + tile.mt * tile.nc) * size_of(acc);
            if (bytes > 2 * t.l2_bytes || std::any_of(out.begin(), out.end(), same)) continue;
            out.push_back(tile);
          }
        }
      }
    }
  }
  if (out.size() > kMaxCandidates) out.resize(kMaxCandidates);
  return out;
}

std::optional<std::vector<ScheduleCandidate>> contraction_candidates(const TileFunction& f,
                                                                     const CpuTarget& target) {
  const auto form = compute_form(f);
  const auto c = form ? match_contraction(squeeze_unit_axes(*form), f.facts) : std::nullopt;
  if (!c) return std::nullopt;
  std::vector<ScheduleCandidate> out;
  for (const ContractionTile& t : contraction_tiles(target, c->sum.dtype())) {
    out.push_back(
        {"contraction",
         {{"mr", t.mr}, {"nr", t.nr}, {"kc", t.kc}, {"mc", t.mc}, {"nc", t.nc}, {"mt", t.mt}}});
  }
  return out;
}

}  // namespace symtile
