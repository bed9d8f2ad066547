// Pieces that all CPU schedules are made of: fresh names, loop nests, reductions with
// accumulators, and the outermost parallel loop.
#pragma once

#include "symtile/ir/reduction.h"
#include "symtile/schedule/cpu/linear.h"
#include "symtile/target/cpu_target.h"

namespace symtile {

/// Hands out variable and buffer names that the function does not use.
class NameSource {
 public:
  explicit NameSource(const TileFunction& f);
  std::string fresh(const std::string& hint);

 private:
  std::set<std::string> taken_;
};

/// Statements around a body, innermost last: built by wrapping from the inside out.
Stmt let(const std::string& name, Expr value, Stmt body);
Stmt let_all(const std::vector<std::pair<std::string, Expr>>& values, Stmt body);
/// Serial (or unrolled, when the extents are small constants) loops over the axes.
Stmt serial_nest(const std::vector<Axis>& axes, Stmt body);
Stmt allocate(const Buffer& b, Stmt body);

/// One step of a reduction: combine(acc, x). Not for arg reductions.
Expr combine(ReduceKind kind, Expr acc, Expr x);

/// Gives every axis of every stage a name of its own.
void make_axes_distinct(ComputeForm& form, NameSource& names);

/// Emits `target[index] = value` for one row point, where value may contain reductions; loops over
/// `axes` (the stage's axes that no outer loop binds).
class StageEmitter {
 public:
  StageEmitter(const LinearForm& form, const CpuTarget& target, NameSource& names)
      : form_(form), target_(target), names_(names) {}

  /// All points of `axes`, serially apart from SIMD.
  Stmt emit(const ComputeStmt& stage, const std::vector<Axis>& axes);

  /// The stage's loops taken apart for a parallel schedule.
  struct Split {
    std::vector<Axis> outer;  ///< independent outer axes
    std::vector<Axis> inner;  ///< merged into one contiguous loop; may be empty
  };
  Split split(const ComputeStmt& stage, const std::vector<Axis>& axes) const;
  /// Points [begin, end) of the merged inner axes.
  Stmt emit_range(const ComputeStmt& stage, const std::vector<Axis>& inner, Expr begin, Expr end);
  /// One point (no axes left).
  Stmt emit_point(const ComputeStmt& stage, const std::map<std::string, Expr>& at);

  /// Lanes of one vectorised block of a reduction whose output axis is contiguous.
  int block_lanes(DType dtype) const {
    return target_.lanes(std::max<int64_t>(size_of(dtype), 4)) * 4;
  }

 private:
  Stmt emit_block(const ComputeStmt& stage, const Expr& value, const Expr& index,
                  const std::string& x, Expr base, int lanes, const Expr& end, bool masked);
  Stmt reduce_scalar(const ReduceExpr& r, const std::string& acc);

  const LinearForm& form_;
  const CpuTarget& target_;
  NameSource& names_;
};

/// for p in parallel 0..prod(axes): let axes = decode(p): body. No axes: a single iteration.
Stmt parallel_over(const std::vector<Axis>& axes, const std::string& p, Stmt body);

/// The scheduled function with flat buffers.
TileFunction finish_schedule(const TileFunction& f, const LinearForm& form, Stmt body,
                             const char* schedule);

}  // namespace symtile
