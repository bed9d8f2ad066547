#include "symtile/mapping/task_mapping.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "symtile/base/check.h"

namespace symtile {
namespace {

using Task = std::vector<int64_t>;

std::vector<int> row_major(size_t rank) {
  std::vector<int> ranks(rank);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

TaskMapping::Atom make_atom(TaskMapping::Kind kind, std::vector<DimExpr> extents,
                            std::vector<int> ranks) {
  if (ranks.empty()) ranks = row_major(extents.size());
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  SYMTILE_CHECK(sorted == row_major(extents.size()),
                "the ranks of a task mapping must be a permutation of its dimensions");
  return {kind, std::move(extents), std::move(ranks)};
}

/// The task extents as numbers.
Task constant_extents(const TaskMapping::Atom& atom) {
  Task out;
  for (const DimExpr& extent : atom.extents) {
    const auto value = extent.as_const();
    SYMTILE_CHECK(value && *value >= 0, "task extent '{}' is not a constant", extent.str());
    out.push_back(*value);
  }
  return out;
}

/// The position of task number `index` when tasks are counted in rank order.
Task task_at(const TaskMapping::Atom& atom, const Task& extents, int64_t index) {
  std::vector<size_t> dim_of_rank(extents.size());
  for (size_t d = 0; d < extents.size(); ++d) dim_of_rank[static_cast<size_t>(atom.ranks[d])] = d;
  Task task(extents.size());
  for (size_t r = extents.size(); r-- > 0;) {
    const size_t d = dim_of_rank[r];
    task[d] = index % extents[d];
    index /= extents[d];
  }
  return task;
}

int64_t count(const Task& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

/// Appends the tasks of the atoms from `first` on for `worker`, offset by `base` whose unit is
/// the task shape of those atoms.
void collect(const std::vector<TaskMapping::Atom>& atoms, size_t first, int64_t worker,
             const Task& base, std::vector<Task>& out) {
  if (first == atoms.size()) {
    out.push_back(base);
    return;
  }
  const TaskMapping::Atom& atom = atoms[first];
  const Task extents = constant_extents(atom);
  const auto descend = [&](int64_t index, int64_t inner_worker) {
    Task next = task_at(atom, extents, index);
    for (size_t d = 0; d < next.size(); ++d) next[d] += base[d] * extents[d];
    collect(atoms, first + 1, inner_worker, next, out);
  };
  if (atom.kind == TaskMapping::Kind::spatial) {
    int64_t inner = 1;
    for (size_t i = first + 1; i < atoms.size(); ++i) {
      if (atoms[i].kind == TaskMapping::Kind::spatial) inner *= count(constant_extents(atoms[i]));
    }
    descend(worker / inner, worker % inner);
    return;
  }
  const int64_t n = count(extents);
  for (int64_t t = 0; t < n; ++t) descend(t, worker);
}

}  // namespace

TaskMapping TaskMapping::spatial(std::vector<DimExpr> extents, std::vector<int> ranks) {
  TaskMapping m;
  m.atoms_.push_back(make_atom(Kind::spatial, std::move(extents), std::move(ranks)));
  return m;
}

TaskMapping TaskMapping::repeat(std::vector<DimExpr> extents, std::vector<int> ranks) {
  TaskMapping m;
  m.atoms_.push_back(make_atom(Kind::repeat, std::move(extents), std::move(ranks)));
  return m;
}

TaskMapping TaskMapping::column_spatial(std::vector<DimExpr> extents) {
  std::vector<int> ranks = row_major(extents.size());
  std::reverse(ranks.begin(), ranks.end());
  return spatial(std::move(extents), std::move(ranks));
}

TaskMapping TaskMapping::column_repeat(std::vector<DimExpr> extents) {
  std::vector<int> ranks = row_major(extents.size());
  std::reverse(ranks.begin(), ranks.end());
  return repeat(std::move(extents), std::move(ranks));
}

TaskMapping operator*(const TaskMapping& outer, const TaskMapping& inner) {
  if (outer.atoms_.empty()) return inner;
  if (inner.atoms_.empty()) return outer;
  SYMTILE_CHECK(outer.rank() == inner.rank(), "'{}' and '{}' have different ranks", outer.str(),
                inner.str());
  TaskMapping m = outer;
  m.atoms_.insert(m.atoms_.end(), inner.atoms_.begin(), inner.atoms_.end());
  return m;
}

DimExpr TaskMapping::workers() const {
  DimExpr n = 1;
  for (const Atom& atom : atoms_) {
    if (atom.kind == Kind::spatial) n *= product(atom.extents);
  }
  return n;
}

std::vector<DimExpr> TaskMapping::task_shape() const {
  std::vector<DimExpr> shape(static_cast<size_t>(rank()), DimExpr(1));
  for (const Atom& atom : atoms_) {
    for (size_t d = 0; d < shape.size(); ++d) shape[d] *= atom.extents[d];
  }
  return shape;
}

std::vector<std::vector<int64_t>> TaskMapping::tasks(int64_t worker) const {
  const auto n = workers().as_const();
  SYMTILE_CHECK(n, "the tasks of '{}' are not constant", str());
  SYMTILE_CHECK(worker >= 0 && worker < *n, "worker {} of {}", worker, *n);
  std::vector<Task> out;
  collect(atoms_, 0, worker, Task(static_cast<size_t>(rank()), 0), out);
  return out;
}

std::string TaskMapping::str() const {
  if (atoms_.empty()) return "identity";
  std::string out;
  for (const Atom& atom : atoms_) {
    if (!out.empty()) out += " * ";
    out += atom.kind == Kind::spatial ? "spatial(" : "repeat(";
    for (size_t d = 0; d < atom.extents.size(); ++d) {
      out += (d ? ", " : "") + atom.extents[d].str();
    }
    if (atom.ranks != row_major(atom.extents.size())) {
      out += fmt::format("; {}", fmt::join(atom.ranks, ", "));
    }
    out += ")";
  }
  return out;
}

}  // namespace symtile
