// Task mappings (Hidet §5.1): assign a grid of tasks to workers.
//
// spatial(d...) gives each worker one task; repeat(d...) gives one worker all tasks in order;
// `f1 * f2` composes, f1 outer: with n = n1*n2 workers and task shape d1 (.) d2,
//   f(w) = [t1 (.) d2 + t2 | t1 in f1(w / n2), t2 in f2(w mod n2)], t1 the outer loop.
// A mapping is kept as its list of atoms, outermost first, so composition is concatenation and
// associativity holds by construction. Ranks permute the order of dimensions: rank 0 is slowest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symtile/shape/dim_expr.h"

namespace symtile {

class TaskMapping {
 public:
  enum class Kind : uint8_t { spatial, repeat };
  struct Atom {
    Kind kind;
    std::vector<DimExpr> extents;
    std::vector<int> ranks;  ///< a permutation; rank 0 varies slowest
    friend bool operator==(const Atom&, const Atom&) = default;
  };

  TaskMapping() = default;
  /// Row-major when `ranks` is empty.
  static TaskMapping spatial(std::vector<DimExpr> extents, std::vector<int> ranks = {});
  static TaskMapping repeat(std::vector<DimExpr> extents, std::vector<int> ranks = {});
  static TaskMapping column_spatial(std::vector<DimExpr> extents);
  static TaskMapping column_repeat(std::vector<DimExpr> extents);
  friend TaskMapping operator*(const TaskMapping& outer, const TaskMapping& inner);

  int rank() const { return atoms_.empty() ? 0 : static_cast<int>(atoms_.front().extents.size()); }
  DimExpr workers() const;
  std::vector<DimExpr> task_shape() const;
  /// The ordered tasks of one worker; every extent must be constant.
  std::vector<std::vector<int64_t>> tasks(int64_t worker) const;

  const std::vector<Atom>& atoms() const { return atoms_; }
  /// "spatial(4, 8) * repeat(2, 2)"; ranks other than row-major print as "spatial(2, 3; 1, 0)".
  std::string str() const;
  friend bool operator==(const TaskMapping&, const TaskMapping&) = default;

 private:
  std::vector<Atom> atoms_;
};

}  // namespace symtile
