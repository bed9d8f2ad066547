#include "symtile/mapping/projection.h"

#include "symtile/base/check.h"

namespace symtile {

std::vector<DimExpr> task_shape(const ProjectedMapping::Factor& factor) {
  std::vector<DimExpr> out = factor.mapping.task_shape();
  for (size_t d = 0; d < out.size(); ++d) {
    if (factor.projected[d]) out[d] = 1;
  }
  return out;
}

ProjectedMapping::ProjectedMapping(TaskMapping mapping) {
  const auto rank = static_cast<size_t>(mapping.rank());
  factors_.push_back({std::move(mapping), std::vector<bool>(rank, false)});
}

ProjectedMapping projection(ProjectedMapping mapping, const std::vector<int>& dims) {
  for (const int d : dims) {
    SYMTILE_CHECK(d >= 0 && d < mapping.rank(), "dimension {} of a mapping of rank {}", d,
                  mapping.rank());
    for (ProjectedMapping::Factor& f : mapping.factors_) f.projected[static_cast<size_t>(d)] = true;
  }
  return mapping;
}

ProjectedMapping operator*(const ProjectedMapping& outer, const ProjectedMapping& inner) {
  SYMTILE_CHECK(outer.rank() == inner.rank(), "task mappings of rank {} and {} do not compose",
                outer.rank(), inner.rank());
  ProjectedMapping out = outer;
  out.factors_.insert(out.factors_.end(), inner.factors_.begin(), inner.factors_.end());
  return out;
}

DimExpr ProjectedMapping::workers() const {
  DimExpr n = 1;
  for (const Factor& f : factors_) n *= f.mapping.workers();
  return n;
}

std::vector<DimExpr> ProjectedMapping::task_shape() const {
  std::vector<DimExpr> out(static_cast<size_t>(rank()), DimExpr(1));
  for (const Factor& f : factors_) {
    const std::vector<DimExpr> shape = symtile::task_shape(f);
    for (size_t d = 0; d < out.size(); ++d) out[d] *= shape[d];
  }
  return out;
}

std::vector<std::vector<int64_t>> ProjectedMapping::tasks(int64_t worker) const {
  std::vector<std::vector<int64_t>> out{std::vector<int64_t>(static_cast<size_t>(rank()), 0)};
  DimExpr inner = workers();
  for (const Factor& f : factors_) {
    inner = floordiv(inner, f.mapping.workers());
    const auto n = inner.as_const();
    SYMTILE_CHECK(n, "the tasks of a projection of '{}' are not constant", f.mapping.str());
    const std::vector<DimExpr> shape = symtile::task_shape(f);
    std::vector<std::vector<int64_t>> next;
    for (const auto& base : out) {
      for (const auto& task : f.mapping.tasks(worker / *n)) {
        std::vector<int64_t> t(base.size());
        for (size_t d = 0; d < t.size(); ++d)
          t[d] = base[d] * *shape[d].as_const() + (f.projected[d] ? 0 : task[d]);
        next.push_back(std::move(t));
      }
    }
    worker %= *n;
    out = std::move(next);
  }
  return out;
}

}  // namespace symtile
