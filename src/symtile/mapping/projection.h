// Task mappings that ignore some of their coordinates: several workers share a task.
//
// projection(f, {d}) has the workers of f, extent 1 in dimension d, and coordinate 0 there in
// every task. So the lanes of a warp tile of (m, n) that differ only in n all load the same element
// of A. A projection is no partition: only idempotent work may stand in its body.
#pragma once

#include "symtile/mapping/task_mapping.h"

namespace symtile {

class ProjectedMapping {
 public:
  /// One mapping and the dimensions that are forced to 0.
  struct Factor {
    TaskMapping mapping;
    std::vector<bool> projected;
  };

  ProjectedMapping(TaskMapping mapping);  // NOLINT: a mapping is a projection of nothing
  friend ProjectedMapping projection(ProjectedMapping mapping, const std::vector<int>& dims);
  /// Composition as that of mappings: `outer` is the outer loop.
  friend ProjectedMapping operator*(const ProjectedMapping& outer, const ProjectedMapping& inner);

  int rank() const { return static_cast<int>(factors_.front().projected.size()); }
  DimExpr workers() const;
  std::vector<DimExpr> task_shape() const;
  /// The ordered tasks of one worker; every extent must be constant.
  std::vector<std::vector<int64_t>> tasks(int64_t worker) const;
  /// Outermost first.
  const std::vector<Factor>& factors() const { return factors_; }

 private:
  ProjectedMapping() = default;
  std::vector<Factor> factors_;
};

ProjectedMapping projection(ProjectedMapping mapping, const std::vector<int>& dims);

/// The task shape of one factor: extent 1 where it is projected.
std::vector<DimExpr> task_shape(const ProjectedMapping::Factor& factor);

}  // namespace symtile
