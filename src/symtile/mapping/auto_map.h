// A task mapping made for a grid and a number of workers (Hidet's auto_map).
//
// The fastest dimension is shared out first: neighbouring workers take neighbouring tasks, so that
// loads of contiguous memory coalesce. Extents may be symbolic; then facts decide what divides.
#pragma once

#include "symtile/mapping/task_mapping.h"
#include "symtile/shape/facts.h"

namespace symtile {

/// repeat(d / s) * spatial(s), s_i the largest divisor of the workers still unassigned that
/// divides d_i. Exactly `workers` workers cover the grid exactly once; throws `bad_input` when no
/// such assignment is found (the workers must divide the number of tasks).
TaskMapping auto_map(const std::vector<DimExpr>& extents, int64_t workers, const Facts& facts = {});

/// A mapping that covers at least the grid, whatever the extents: repeat(ceildiv(d, s)) *
/// spatial(s), s_i the largest divisor of the workers left that is at most d_i (all of them for a
/// symbolic d_i). The body must check the task against the grid where `exact[i]` is false. Workers
/// beyond mapping.workers() have no tasks.
struct PredicatedMapping {
  TaskMapping mapping;
  std::vector<bool> exact;  ///< dimension i is covered without overhang, by the facts
};
PredicatedMapping predicated_auto_map(const std::vector<DimExpr>& extents, int64_t workers,
                                      const Facts& facts = {});

}  // namespace symtile
