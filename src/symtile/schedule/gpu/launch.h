// Pieces that all GPU schedules are made of: the loops of a launch, the evaluation of one element
// by one work-item, and a stage as schedules see it.
//
// A launch is `for block { shared allocs { for warp { for lane { body } } } }` with constant
// numbers of warps and lanes; the body is run by every work-item and addresses it by one number,
// `thread`.
#pragma once

#include "symtile/schedule/cpu/loops.h"
#include "symtile/target/gpu_target.h"

namespace symtile::gpu {

/// One element per point of the axes: buffer[indices] = value.
struct Stage {
  std::string buffer;
  std::vector<Expr> indices;
  std::vector<Axis> axes;
  Expr value;
};

/// What the work-items of a launch share.
struct LaunchParts {
  Expr grid;                   ///< number of blocks
  int threads = 1;             ///< work-items of a block
  std::vector<Buffer> shared;  ///< allocated in every block
  Stmt body;                   ///< names `block` and `thread`
};

/// The variables that a launch binds.
struct LaunchVars {
  explicit LaunchVars(NameSource& names)
      : block_name(names.fresh("block")), thread_name(names.fresh("thread")) {}
  Expr block() const { return var(block_name); }
  Expr thread() const { return var(thread_name); }
  std::string block_name, thread_name;
};
Stmt launch(const LaunchVars& vars, LaunchParts parts, const GpuTarget& target, NameSource& names);

/// `body` with the axes bound that it mentions, decoded from their row-major position.
Stmt bind_axes(const std::vector<Axis>& axes, const Expr& position, Stmt body);
/// Loads whose address is proportional to the row-major position of the axes use `position`, a
/// variable, and need no decoding.
Expr use_position(const Expr& e, const std::vector<Axis>& axes, const std::string& position,
                  const Facts& facts);
bool mentions(const Stmt& s, const std::string& variable);
Stmt only_if(Expr condition, Stmt body);

/// Evaluates expressions in one work-item: reductions become loops over accumulators in registers.
/// A reduction in a branch of a select runs only where the select takes that branch.
class PointEvaluator {
 public:
  explicit PointEvaluator(NameSource& names) : names_(names) {}
  /// Appends what must run first; the result may be used behind it.
  Expr evaluate(const Expr& e);
  void append(Stmt s) { stmts_.push_back(std::move(s)); }
  /// Everything appended, inside the allocations it needs.
  Stmt finish();

 private:
  Expr evaluate_reduction(const ReduceExpr& r);
  Expr evaluate_select(const SelectExpr& s);
  Buffer accumulator(DType dtype);

  NameSource& names_;
  std::vector<Stmt> stmts_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<Expr, Expr>> known_;  ///< reductions evaluated before, and their results
};

/// The condition that candidate (value, position) beats the present best; for arg reductions.
Expr beats(ReduceKind kind, const Expr& value, const Expr& position, const Expr& best,
           const Expr& best_position);

/// stage.buffer[indices] = value, by one work-item, where the axes are bound already.
Stmt store_point(const Stage& stage, NameSource& names);

/// The outermost reductions of `e` that are evaluated whatever a select decides, each once.
std::vector<Expr> unconditional_reductions(const Expr& e);
/// `e` with every occurrence of a first replaced by its second.
Expr replace_exactly(const Expr& e, const std::vector<std::pair<Expr, Expr>>& map);

/// `body` inside allocations in global memory. One without elements gets one: kernels name it.
Stmt with_workspace(const std::vector<Buffer>& workspace, Stmt body);

/// The number of elements; nullopt when symbolic.
std::optional<int64_t> constant_size(const Buffer& b);

}  // namespace symtile::gpu
