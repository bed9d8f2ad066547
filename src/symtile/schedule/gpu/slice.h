// The slices of one operand of a contraction: how they come from global to shared memory.
//
// A slice has the rows of a block's tile and some steps of the sum. What stands there in memory is
// copied asynchronously where the target can; otherwise, and where an expression is evaluated on
// the way (im2col, dequantisation, a cast), a slice waits in registers while the one before it is
// multiplied. Neighbours in memory are moved as vectors where all of them are inside, element by
// element at the edges.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

/// What both operands share.
struct SliceContext {
  const LinearForm& linear;
  const Facts& facts;
  const GpuTarget& target;
  NameSource& names;
  std::vector<Axis> k_axes;
  int64_t k = 8;  ///< steps of a slice
  int64_t threads = 1;
  Expr thread;
  std::string k_begin, k_end;  ///< variables: the share of the sum that the block has
};

struct SliceOperand {
  Expr value;
  std::vector<Axis> axes;   ///< its rows
  DimExpr extent;           ///< how many there are
  int64_t rows = 1;         ///< of a tile
  std::string origin;       ///< variable: the first row of the tile
  bool by_rows = false;     ///< shared memory has k along a row, as matrix instructions want it
  bool prefer_rows = true;  ///< neighbours along the rows, when both are neighbours in memory
};

class Slice {
 public:
  Slice(const SliceContext& context, SliceOperand operand, const char* hint);

  const Buffer& shared() const { return shared_; }
  const Buffer& registers() const { return next_; }
  bool is_async() const { return async_; }

  /// Slice `step` from global memory to registers, and from there to half `which` of shared memory;
  /// or, of an asynchronous one, straight there.
  Stmt fetch(const Expr& step);
  Stmt put(const Expr& which);
  Stmt copy(const Expr& step, const Expr& which);
  /// The element of row `row` and step `k` of half `which`.
  std::vector<Expr> at(const Expr& which, const Expr& row, const Expr& k) const;

 private:
  /// Names of one task: repetitions, work-items, and the first row and step that it moves.
  struct Task {
    std::string rr, rk, i, kk, row, k;
  };
  Task task() const;
  /// True when elements along `axes` lie side by side in memory, under one variable.
  bool contiguous(const std::vector<Axis>& axes, bool whole) const;
  void spread();
  Stmt for_tasks(const Task& t, Stmt body) const;
  Stmt with_position(const Task& t, const Expr& step, Stmt body) const;
  Expr row_inside(const Expr& row) const;
  Expr value_at(const Task& t) const;
  Expr moved(const Expr& value, const Task& t, const Expr& v) const;
  /// `vector` where all elements of the task are inside, else `single` for each of them.
  Stmt guarded(const Task& t, Stmt vector, const std::function<Stmt(const Expr&)>& single) const;
  std::vector<Expr> place(const Task& t, const Expr& which, const Expr& v) const;

  const SliceContext& c_;
  SliceOperand o_;
  bool along_k_ = false;  ///< neighbours move neighbours along k
  bool async_ = false;
  int64_t vector_ = 1;  ///< elements that a work-item moves at once
  int64_t row_items_ = 1, k_items_ = 1, repeat_rows_ = 1, repeat_k_ = 1;
  Buffer shared_, next_;
};

}  // namespace symtile::gpu
