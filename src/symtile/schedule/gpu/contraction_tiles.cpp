// The schedule space of the contraction template: tiles that follow from lanes, warps, registers
// and shared memory, whatever the size of the input.
#include <algorithm>

#include "symtile/schedule/gpu/contraction.h"

namespace symtile::gpu {
namespace {

constexpr int64_t kElementBytes = 4;

bool fits(const ContractionTile& t, const GpuTarget& target) {
  const int64_t threads = t.threads();
  if (threads > target.max_threads) return false;
  // Every work-item loads the same number of elements of each slice.
  if (t.m() * t.k % threads != 0 || t.n() * t.k % threads != 0) return false;
  constexpr int64_t kPad = 4;
  if (2 * t.k * (t.m() + kPad + t.n() + kPad) * kElementBytes > target.shared_bytes) return false;
  const int64_t rows = t.outer_m * t.inner_m, columns = t.outer_n * t.inner_n;
  const int64_t prefetched = (t.m() + t.n()) * t.k / threads;
  // Accumulators, two fragments each, the slices on their way, and some for addresses.
  return rows * columns + 2 * (rows + columns) + prefetched + target.registers / 5 <=
         target.registers;
}

/// Smaller is better: square tiles that use all work-items and enough registers to hide loads.
int64_t cost(const ContractionTile& t, const GpuTarget& target) {
  const int64_t accumulators = t.outer_m * t.outer_n * t.inner_m * t.inner_n;
  const int64_t wanted = std::max<int64_t>(target.registers / 8, 1);
  const auto ratio = [](int64_t a, int64_t b) { return a > b ? a / b : b / a; };
  return 64 * (ratio(t.threads(), target.max_threads) - 1) +
         16 * (ratio(accumulators, wanted) - 1) + 8 * (ratio(t.m(), t.n()) - 1) +
         2 * (t.outer_m * t.outer_n - 1) + (t.k == 8 ? 0 : 1);
}

bool fits_matrix(const ContractionTile& t, const GpuTarget& target) {
  constexpr int64_t kHalfBytes = 2;
  if (t.threads() > target.max_threads) return false;
  if (2 * (t.m() * (t.k + 8) + t.k * (t.n() + 8)) * kHalfBytes > target.shared_bytes) return false;
  const int64_t accumulators = t.outer_m * t.outer_n * t.inner_n;
  return accumulators + (t.m() + t.n()) * t.k / t.threads() / 2 + target.registers / 5 <=
         target.registers;
}

}  // namespace

std::vector<ContractionTile> matrix_tiles(const GpuTarget& target) {
  std::vector<ContractionTile> out;
  if (!target.has_matrix_multiply || target.lanes != 32) return out;
  for (const int64_t k : {32, 16}) {
    for (const auto& [warps_m, warps_n] :
         {std::pair<int64_t, int64_t>{2, 4}, {2, 2}, {4, 2}, {1, 2}, {2, 1}, {1, 1}}) {
      // Fragments of 16 rows: two registers' rows each.
      for (const auto& [outer_m, outer_n] :
           {std::pair<int64_t, int64_t>{8, 4}, {4, 4}, {4, 2}, {2, 2}, {2, 1}}) {
        const ContractionTile t = {warps_m, warps_n, outer_m, outer_n, 8, 4, 1, 2, k, true};
        if (fits_matrix(t, target)) out.push_back(t);
      }
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.m() * a.n() > b.m() * b.n(); });
  return out;
}

ScheduleCandidate ContractionTile::candidate() const {
  return {"contraction",
          {{"warps_m", warps_m},
           {"warps_n", warps_n},
           {"outer_m", outer_m},
           {"outer_n", outer_n},
           {"lanes_m", lanes_m},
           {"lanes_n", lanes_n},
           {"inner_m", inner_m},
           {"inner_n", inner_n},
           {"block_k", k}}};
}

std::vector<ContractionTile> contraction_tiles(const GpuTarget& target) {
  int64_t lanes_m = 1;
  while (lanes_m * lanes_m * 4 <= target.lanes) lanes_m *= 2;
  std::vector<ContractionTile> out;
  for (const int64_t k : {8, 16, 4}) {
    for (int64_t warps_m = 1; warps_m * target.lanes <= target.max_threads; warps_m *= 2) {
      for (int64_t warps_n = 1; warps_m * warps_n * target.lanes <= target.max_threads;
           warps_n *= 2) {
        if (warps_m > 4 * warps_n || warps_n > 4 * warps_m) continue;
        for (const auto& [outer_m, outer_n] : {std::pair<int64_t, int64_t>{1, 1}, {1, 2}, {2, 2}}) {
          for (const auto& [inner_m, inner_n] :
               {std::pair<int64_t, int64_t>{4, 4}, {2, 4}, {2, 2}, {1, 2}, {1, 1}}) {
            const ContractionTile t = {warps_m, warps_n, outer_m,
                                       outer_n, lanes_m, target.lanes / lanes_m,
                                       inner_m, inner_n, k};
            if (fits(t, target)) out.push_back(t);
          }
        }
      }
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto& a, const auto& b) { return cost(a, target) < cost(b, target); });
  if (out.size() > kMaxCandidates) out.resize(kMaxCandidates);
  return out;
}

}  // namespace symtile::gpu
