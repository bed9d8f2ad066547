#include "symtile/mapping/auto_map.h"

#include <fmt/ranges.h>

#include "symtile/base/check.h"
#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

/// The largest divisor of `n` that `accept` takes; 1 is always taken.
template <typename F>
int64_t largest_divisor(int64_t n, const F& accept) {
  for (int64_t d = n; d > 1; --d) {
    if (n % d == 0 && accept(d)) return d;
  }
  return 1;
}

TaskMapping repeated(const std::vector<DimExpr>& repeats, const std::vector<DimExpr>& spatials) {
  return TaskMapping::repeat(repeats) * TaskMapping::spatial(spatials);
}

}  // namespace

TaskMapping auto_map(const std::vector<DimExpr>& extents, int64_t workers, const Facts& facts) {
  SYMTILE_CHECK(workers >= 1, "a mapping for {} workers", workers);
  std::vector<DimExpr> spatials(extents.size(), 1), repeats(extents.size(), 1);
  int64_t left = workers;
  for (size_t i = extents.size(); i-- > 0;) {
    const int64_t share =
        largest_divisor(left, [&](int64_t d) { return facts.proves_divisible(extents[i], d); });
    spatials[i] = share;
    repeats[i] = facts.simplify(floordiv(extents[i], share));
    left /= share;
  }
  if (left != 1) {
    std::vector<std::string> texts;
    for (const DimExpr& e : extents) texts.push_back(e.str());
    fail(DiagId::bad_input, {},
         "{} workers cannot share a grid of ({}) tasks evenly; use a number of workers that "
         "divides it, or predicated_auto_map",
         workers, fmt::join(texts, ", "));
  }
  return repeated(repeats, spatials);
}

PredicatedMapping predicated_auto_map(const std::vector<DimExpr>& extents, int64_t workers,
                                      const Facts& facts) {
  SYMTILE_CHECK(workers >= 1, "a mapping for {} workers", workers);
  std::vector<DimExpr> spatials(extents.size(), 1), repeats(extents.size(), 1);
  PredicatedMapping out;
  out.exact.resize(extents.size());
  int64_t left = workers;
  for (size_t i = extents.size(); i-- > 0;) {
    const int64_t share =
        largest_divisor(left, [&](int64_t d) { return !facts.proves_lt(extents[i], d); });
    spatials[i] = share;
    repeats[i] = facts.simplify(ceildiv(extents[i], share));
    out.exact[i] = facts.proves_divisible(extents[i], share);
    left /= share;
  }
  out.mapping = repeated(repeats, spatials);
  return out;
}

}  // namespace symtile
