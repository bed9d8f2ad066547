// The machine that runs prepared code: blocks in order, lanes in lockstep under masks.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "symtile/interp/emulator/memory.h"
#include "symtile/interp/emulator/values.h"

namespace symtile::emulation {

using Lanes = std::vector<int>;
using WorkerTasks = std::vector<std::vector<std::vector<int64_t>>>;

/// Temporaries of expression evaluation, reused.
class Pool {
 public:
  class Borrowed {
   public:
    explicit Borrowed(Pool& pool) : pool_(pool) {
      if (pool.used_ == pool.values_.size()) pool.values_.push_back(std::make_unique<Values>());
      value_ = pool.values_[pool.used_++].get();
    }
    ~Borrowed() { --pool_.used_; }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Values& operator*() { return *value_; }
    Values* operator->() { return value_; }

   private:
    Pool& pool_;
    Values* value_;
  };

 private:
  std::vector<std::unique_ptr<Values>> values_;
  size_t used_ = 0;
};

/// One run of one function.
class Machine {
 public:
  Machine(const TileFunction& f, const Code& code)
      : f_(f), code_(code), variables_(static_cast<size_t>(code.slots)), log_(code.lines) {
    memories_.resize(code.buffers.size());
    all_ = {0};
  }
  Emulation run(const DimValues& symbols, const std::vector<const RefTensor*>& inputs);

 private:
  // Memory.
  Memory& make_memory(int number);
  static void fill(Memory& m, const RefTensor& t);
  RefTensor take(Memory& m);
  /// Index of the copy that `lane` sees.
  int64_t copy_of(const Memory& m, int lane) const;
  int warp_of(int lane) const { return lane / std::max(1, lanes_per_warp_); }

  Access access(const Memory& m, int lane) const;
  /// Where each lane's element stands; -1: outside, reported.
  void locate(const Memory& m, const std::vector<ExprCode>& indices, size_t rank,
              const Lanes& lanes, std::vector<int64_t>& at, const char* what);
  /// A value that decides something must be defined.
  void decide(const Values& v, size_t k);

  // Expressions.
  int64_t uniform(const ExprCode& e, const Lanes& lanes);
  void evaluate(const ExprCode& e, const Lanes& lanes, Values& out);
  void read_variable(const ExprCode& e, const Lanes& lanes, Values& out);
  void load(const ExprCode& e, const Lanes& lanes, Values& out);
  /// Splits the lanes by a condition.
  void split(const ExprCode& condition, const Lanes& lanes, std::vector<size_t>& yes,
             std::vector<size_t>& no);
  static Lanes pick(const Lanes& lanes, const std::vector<size_t>& positions);
  static void copy_value(Values& to, size_t at, const Values& from, size_t k, bool real, size_t n);
  void choose(const ExprCode& e, const Lanes& lanes, Values& out);
  void set_variable(int slot, const Lanes& lanes, const std::function<int64_t(size_t)>& value);
  void reduce(const ExprCode& e, const Lanes& lanes, Values& out);
  void reduce_lane_by_lane(const ExprCode& e, const Lanes& lanes, Values& out);
  static void start(ReduceKind kind, DType t, Values& acc, size_t n);
  static bool better(ReduceKind kind, DType t, const Values& x, const Values& best, size_t k);

  // Statements.
  void execute(const StmtCode& s, const Lanes& lanes);
  void bind(int slot, const Lanes& lanes, const Values& v);
  void store(const StmtCode& s, const Lanes& lanes);
  void loop(const StmtCode& s, const Lanes& lanes);
  /// A loop over blocks, or over the iterations of a parallel loop.
  void launch(const StmtCode& s, int64_t begin, int64_t end);
  /// The lanes of the block part: each becomes one per iteration of the loop.
  void part(const StmtCode& s, int64_t begin, int64_t end);
  template <typename T>
  static void spread(std::vector<T>& v, int64_t outer, int64_t count) {
    if (static_cast<int64_t>(v.size()) < outer) return;  // a variable that is not in scope
    std::vector<T> out;
    out.reserve(static_cast<size_t>(outer * count));
    for (int64_t l = 0; l < outer; ++l)
      out.insert(out.end(), static_cast<size_t>(count), v[static_cast<size_t>(l)]);
    v = std::move(out);
  }
  const WorkerTasks& tasks_of_workers(const StmtCode& s, const std::vector<int64_t>& extents);
  void tasks(const StmtCode& s, const Lanes& lanes);
  void barrier(const StmtCode& s, const Lanes& lanes);
  /// Reports the warps of which only some lanes take part.
  std::vector<int> check_whole_warps(const StmtCode& s, const Lanes& lanes);

  // Asynchronous copies.
  struct Copy {
    int line = 0, to = -1, from = -1;
    std::vector<int64_t> to_at, from_at;
  };
  struct CopiesOfLane {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
  };
  using Place = std::pair<int, int64_t>;  ///< number of the buffer, element
  /// Copies in flight of one element: the line of the last one, and how many.
  struct InFlight {
    int line = 0, count = 0;
  };
  void copy(const StmtCode& s, const Lanes& lanes);
  void commit(const Lanes& lanes);
  void wait(const StmtCode& s, const Lanes& lanes);
  void finish(const Copy& c, int lane);
  void touch_copied(int buffer, int64_t at, bool writes);
  void report_copied(const std::map<Place, InFlight>& copies, const Place& place, bool writes);
  /// A block ends: nothing may be on its way.
  void no_copies_left();

  const TileFunction& f_;
  const Code& code_;
  std::vector<Values> variables_;  ///< by slot, one value per lane
  std::vector<Memory> memories_;   ///< by number
  FaultLog log_;
  Pool pool_;
  Lanes all_;  ///< lanes of the block, or the one that runs outside of launches
  bool in_launch_ = false, in_lanes_ = false;
  int64_t launch_ = 0, block_ = 0, next_block_ = 1;
  int warps_ = 1, lanes_per_warp_ = 1;
  int shared_epoch_ = 0, global_epoch_ = 0;
  std::vector<int> warp_epochs_;
  std::map<std::pair<const StmtCode*, std::vector<int64_t>>, WorkerTasks> mappings_;
  int line_ = 0;
  std::map<int, CopiesOfLane> copies_;
  std::map<Place, InFlight> landing_, leaving_;  ///< what copies in flight write, and read
};

}  // namespace symtile::emulation
