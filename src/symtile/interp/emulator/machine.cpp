// The machine: blocks in order, lanes in lockstep under masks.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "symtile/base/check.h"
#include "symtile/interp/emulator/memory.h"
#include "symtile/interp/emulator/values.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace emulation {
namespace {

using Lanes = std::vector<int>;

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

class Machine {
 public:
  Machine(const TileFunction& f, const Code& code)
      : f_(f), code_(code), variables_(static_cast<size_t>(code.slots)), log_(code.lines) {
    memories_.resize(code.buffers.size());
    all_ = {0};
  }

  Emulation run(const DimValues& symbols, const std::vector<const RefTensor*>& inputs) {
    for (size_t i = 0; i < f_.symbols.size(); ++i) {
      Values& v = variables_[static_cast<size_t>(code_.symbols[i])];
      v.integer = {symbols.at(f_.symbols[i])};
    }
    for (size_t i = 0; i < inputs.size(); ++i) fill(make_memory(static_cast<int>(i)), *inputs[i]);
    for (size_t i = 0; i < f_.outputs.size(); ++i)
      make_memory(static_cast<int>(i + f_.inputs.size()));
    execute(code_.body, all_);
    Emulation out;
    for (size_t i = 0; i < f_.outputs.size(); ++i)
      out.outputs.push_back(take(memories_[i + f_.inputs.size()]));
    out.faults = log_.take();
    return out;
  }

 private:
  // Memory.

  Memory& make_memory(int number) {
    const BufferCode& code = code_.buffers[static_cast<size_t>(number)];
    Memory& m = memories_[static_cast<size_t>(number)];
    m = Memory();
    m.code = &code;
    m.elements = 1;
    for (const ExprCode& d : code.dims) {
      m.dims.push_back(uniform(d, all_));
      SYMTILE_CHECK(m.dims.back() >= 0, "extent {} of '{}' in '{}'", m.dims.back(),
                    code.declaration.name, f_.name);
      m.elements *= m.dims.back();
    }
    if (code.strides.empty()) {
      m.strides.assign(m.dims.size(), 1);
      for (size_t i = m.dims.size(); i-- > 1;) m.strides[i - 1] = m.strides[i] * m.dims[i];
    } else {
      int64_t reach = 1;
      for (size_t i = 0; i < m.dims.size(); ++i) {
        m.strides.push_back(uniform(code.strides[i], all_));
        reach += (m.dims[i] - 1) * m.strides[i];
      }
      if (m.elements > 0) m.elements = std::max(m.elements, reach);
    }
    const Scope scope = code.declaration.scope;
    const int lanes = static_cast<int>(all_.size());
    m.made_for_lanes = lanes;
    const bool inside = in_launch_;
    const bool per_lane = inside && (scope == Scope::local || scope == Scope::scratch);
    if (per_lane) {
      m.copies = lanes;
      // Made before the lanes part: the block has one copy, and its lanes share it.
      m.shared_out = !in_lanes_;
    } else if (scope == Scope::warp && inside) {
      m.copies = std::max(1, warps_);
      m.shared_out = true;
    } else {
      m.shared_out = true;
      m.is_global = !inside || scope == Scope::global || scope == Scope::scratch;
    }
    const auto count = static_cast<size_t>(m.elements * m.copies);
    if (m.holds_reals()) {
      m.real.assign(count, std::numeric_limits<double>::quiet_NaN());
    } else {
      m.integer.assign(count, wrap_to(code.declaration.dtype, 0x5a5a5a5a5a5a5a5a));
    }
    m.undefined.assign(count, kNeverWritten);
    if (m.shared_out && code.written) m.shadow.assign(count, Shadow());
    return m;
  }

  static void fill(Memory& m, const RefTensor& t) {
    SYMTILE_CHECK(m.elements <= t.size(), "buffer '{}' needs {} elements, has {}",
                  m.code->declaration.name, m.elements, t.size());
    const auto n = static_cast<std::ptrdiff_t>(m.elements);
    if (m.holds_reals()) {
      m.real.assign(t.f.begin(), t.f.begin() + n);
    } else {
      m.integer.assign(t.i.begin(), t.i.begin() + n);
    }
    std::fill(m.undefined.begin(), m.undefined.end(), kDefined);
  }

  RefTensor take(Memory& m) {
    RefTensor out(m.code->declaration.dtype, m.dims);
    const std::string name = value_name(m.code->declaration.name);
    for (int64_t at = 0; at < out.size(); ++at) {
      const int origin = m.undefined[static_cast<size_t>(at)];
      if (origin == kNeverWritten) {
        log_.add(FaultKind::never_written, 1, 0, name,
                 fmt::format("element {} of {} is never written", at, name));
      } else if (origin != kDefined) {
        log_.add(FaultKind::uninitialised_read, origin, 0, name,
                 fmt::format("undefined memory reaches element {} of {}", at, name));
      }
    }
    const auto n = static_cast<std::ptrdiff_t>(out.size());
    if (m.holds_reals()) {
      out.f.assign(m.real.begin(), m.real.begin() + n);
    } else {
      out.i.assign(m.integer.begin(), m.integer.begin() + n);
    }
    return out;
  }

  /// Index of the copy that `lane` sees.
  int64_t copy_of(const Memory& m, int lane) const {
    if (m.copies == 1) return 0;
    if (m.code->declaration.scope == Scope::warp) return warp_of(lane) % m.copies;
    return lane / (static_cast<int>(all_.size()) / m.made_for_lanes);
  }
  int warp_of(int lane) const { return lane / std::max(1, lanes_per_warp_); }

  Access access(const Memory& m, int lane) const {
    const int warp = warp_of(lane);
    return {
        block_,
        lane,
        warp,
        m.is_global ? global_epoch_ : shared_epoch_,
        warp < static_cast<int>(warp_epochs_.size()) ? warp_epochs_[static_cast<size_t>(warp)] : 0,
        line_};
  }

  /// Where each lane's element stands; -1: outside, reported.
  void locate(const Memory& m, const std::vector<ExprCode>& indices, size_t rank,
              const Lanes& lanes, std::vector<int64_t>& at, const char* what) {
    const size_t n = lanes.size();
    at.assign(n, 0);
    Pool::Borrowed index(pool_);
    for (size_t d = 0; d < rank; ++d) {
      evaluate(indices[d], lanes, *index);
      for (size_t k = 0; k < n; ++k) {
        if (at[k] < 0) continue;
        const int64_t i = index->integer[k];
        decide(*index, k);
        if (i < 0 || i >= m.dims[d]) {
          const std::string name = value_name(m.code->declaration.name);
          log_.add(FaultKind::out_of_bounds, line_, 0, name,
                   fmt::format("{} of {}: index {} of dimension {} is outside [0, {}), lane {}",
                               what, name, i, d, m.dims[d], lanes[k]));
          at[k] = -1;
          continue;
        }
        at[k] += i * m.strides[d];
      }
    }
    for (size_t k = 0; k < n; ++k) {
      if (at[k] >= 0) at[k] += copy_of(m, lanes[k]) * m.elements;
    }
  }

  /// A value that decides something must be defined.
  void decide(const Values& v, size_t k) {
    if (const int origin = v.origin(k)) {
      log_.add(FaultKind::uninitialised_read, origin, line_, "",
               fmt::format("undefined memory decides in line {}", line_));
    }
  }

  // Expressions.

  int64_t uniform(const ExprCode& e, const Lanes& lanes) {
    Pool::Borrowed v(pool_);
    const Lanes first = {lanes.front()};
    evaluate(e, first, *v);
    return v->integer[0];
  }

  void evaluate(const ExprCode& e, const Lanes& lanes, Values& out) {
    const size_t n = lanes.size();
    switch (e.kind) {
      case ExprCode::Kind::integer:
        out.prepare(n, false);
        std::fill_n(out.integer.begin(), n, e.integer);
        return;
      case ExprCode::Kind::real:
        out.prepare(n, true);
        std::fill_n(out.real.begin(), n, e.real);
        return;
      case ExprCode::Kind::variable:
        return read_variable(e, lanes, out);
      case ExprCode::Kind::load:
        return load(e, lanes, out);
      case ExprCode::Kind::unary: {
        Pool::Borrowed a(pool_);
        evaluate(e.parts[0], lanes, *a);
        return apply_unary(e.unary, e.parts[0].dtype, *a, out, n);
      }
      case ExprCode::Kind::binary: {
        Pool::Borrowed a(pool_), b(pool_);
        evaluate(e.parts[0], lanes, *a);
        evaluate(e.parts[1], lanes, *b);
        return apply_binary(e.binary, e.parts[0].dtype, *a, *b, out, n);
      }
      case ExprCode::Kind::cast: {
        Pool::Borrowed a(pool_);
        evaluate(e.parts[0], lanes, *a);
        return apply_cast(e.parts[0].dtype, e.dtype, *a, out, n);
      }
      case ExprCode::Kind::select:
        return choose(e, lanes, out);
      case ExprCode::Kind::reduce:
        return reduce(e, lanes, out);
    }
  }

  void read_variable(const ExprCode& e, const Lanes& lanes, Values& out) {
    const Values& v = variables_[static_cast<size_t>(e.slot)];
    const size_t n = lanes.size();
    const bool real = is_float(e.dtype);
    out.prepare(n, real);
    for (size_t k = 0; k < n; ++k) {
      const auto lane = static_cast<size_t>(lanes[k]);
      if (real) {
        out.real[k] = v.real[lane];
      } else {
        out.integer[k] = v.integer[lane];
      }
      if (v.any_undefined && v.undefined[lane]) out.mark(k, v.undefined[lane], n);
    }
  }

  void load(const ExprCode& e, const Lanes& lanes, Values& out) {
    Memory& m = memories_[static_cast<size_t>(e.slot)];
    const size_t n = lanes.size();
    std::vector<int64_t> at;
    locate(m, e.parts, e.parts.size(), lanes, at, "load");
    const bool real = m.holds_reals();
    out.prepare(n, real);
    for (size_t k = 0; k < n; ++k) {
      if (at[k] < 0) {
        if (real) {
          out.real[k] = 0;
        } else {
          out.integer[k] = 0;
        }
        continue;
      }
      const auto i = static_cast<size_t>(at[k]);
      if (real) {
        out.real[k] = m.real[i];
      } else {
        out.integer[k] = m.integer[i];
      }
      if (const int state = m.undefined[i]; state != kDefined)
        out.mark(k, state == kNeverWritten ? line_ : state, n);
      if (!m.shadow.empty()) note_read(m, at[k], access(m, lanes[k]), launch_, log_);
    }
  }

  /// Splits the lanes by a condition.
  void split(const ExprCode& condition, const Lanes& lanes, std::vector<size_t>& yes,
             std::vector<size_t>& no) {
    Pool::Borrowed c(pool_);
    evaluate(condition, lanes, *c);
    for (size_t k = 0; k < lanes.size(); ++k) {
      decide(*c, k);
      (c->integer[k] ? yes : no).push_back(k);
    }
  }

  static Lanes pick(const Lanes& lanes, const std::vector<size_t>& positions) {
    Lanes out;
    out.reserve(positions.size());
    for (const size_t k : positions) out.push_back(lanes[k]);
    return out;
  }

  static void copy_value(Values& to, size_t at, const Values& from, size_t k, bool real, size_t n) {
    if (real) {
      to.real[at] = from.real[k];
    } else {
      to.integer[at] = from.integer[k];
    }
    if (const int origin = from.origin(k)) {
      to.mark(at, origin, n);
    } else if (to.any_undefined) {
      to.undefined[at] = 0;
    }
  }

  void choose(const ExprCode& e, const Lanes& lanes, Values& out) {
    std::vector<size_t> yes, no;
    split(e.parts[0], lanes, yes, no);
    if (no.empty()) return evaluate(e.parts[1], lanes, out);
    if (yes.empty()) return evaluate(e.parts[2], lanes, out);
    const bool real = is_float(e.dtype);
    out.prepare(lanes.size(), real);
    Pool::Borrowed part(pool_);
    for (const bool taken : {true, false}) {
      const std::vector<size_t>& positions = taken ? yes : no;
      evaluate(e.parts[taken ? 1 : 2], pick(lanes, positions), *part);
      for (size_t k = 0; k < positions.size(); ++k)
        copy_value(out, positions[k], *part, k, real, lanes.size());
    }
  }

  void set_variable(int slot, const Lanes& lanes, const std::function<int64_t(size_t)>& value) {
    Values& v = variables_[static_cast<size_t>(slot)];
    v.integer.resize(all_.size());
    v.any_undefined = false;
    for (size_t k = 0; k < lanes.size(); ++k) v.integer[static_cast<size_t>(lanes[k])] = value(k);
  }

  void reduce(const ExprCode& e, const Lanes& lanes, Values& out) {
    const size_t rank = e.axes.size(), n = lanes.size();
    // Extents may differ between lanes: then one lane after the other.
    std::vector<int64_t> extents;
    for (size_t d = 0; d < rank; ++d) {
      Pool::Borrowed v(pool_);
      evaluate(e.parts[d], lanes, *v);
      for (size_t k = 1; k < n; ++k) {
        if (v->integer[k] != v->integer[0]) return reduce_lane_by_lane(e, lanes, out);
      }
      extents.push_back(n ? v->integer[0] : 0);
    }
    const ExprCode& body = e.parts[rank];
    const bool real = is_float(body.dtype);
    const bool position = e.reduction >= ReduceKind::argmax;
    Pool::Borrowed acc(pool_), at(pool_), x(pool_);
    acc->prepare(n, real);
    at->prepare(n, false);
    std::fill_n(at->integer.begin(), n, 0);
    start(e.reduction, body.dtype, *acc, n);
    int64_t step = 0;
    for_each_index(extents, [&](const std::vector<int64_t>& index) {
      for (size_t d = 0; d < rank; ++d)
        set_variable(e.axes[d], lanes, [&](size_t) { return index[d]; });
      evaluate(body, lanes, *x);
      if (position) {
        for (size_t k = 0; k < n; ++k) {
          if (step != 0 && !better(e.reduction, body.dtype, *x, *acc, k)) continue;
          copy_value(*acc, k, *x, k, real, n);
          at->integer[k] = step;
        }
      } else {
        Pool::Borrowed next(pool_);
        apply_binary(operator_of(e.reduction), body.dtype, *acc, *x, *next, n);
        std::swap(*acc, *next);
      }
      ++step;
    });
    out.prepare(n, is_float(e.dtype));
    for (size_t k = 0; k < n; ++k)
      copy_value(out, k, position ? *at : *acc, k, is_float(e.dtype), n);
  }

  void reduce_lane_by_lane(const ExprCode& e, const Lanes& lanes, Values& out) {
    const bool real = is_float(e.dtype);
    out.prepare(lanes.size(), real);
    Pool::Borrowed one(pool_);
    for (size_t k = 0; k < lanes.size(); ++k) {
      reduce(e, {lanes[k]}, *one);
      copy_value(out, k, *one, 0, real, lanes.size());
    }
  }

  static void start(ReduceKind kind, DType t, Values& acc, size_t n) {
    const double inf = std::numeric_limits<double>::infinity();
    const bool one = kind == ReduceKind::prod || kind == ReduceKind::all;
    const double real = kind == ReduceKind::max ? -inf : kind == ReduceKind::min ? inf : one;
    if (is_float(t)) {
      std::fill_n(acc.real.begin(), n, real);
    } else {
      std::fill_n(acc.integer.begin(), n, cast_float_to_int(t, real));
    }
  }

  static BinaryOp operator_of(ReduceKind kind) {
    switch (kind) {
      case ReduceKind::sum:
        return BinaryOp::add;
      case ReduceKind::prod:
        return BinaryOp::mul;
      case ReduceKind::max:
        return BinaryOp::max;
      case ReduceKind::min:
        return BinaryOp::min;
      case ReduceKind::any:
        return BinaryOp::logical_or;
      default:
        return BinaryOp::logical_and;
    }
  }

  static bool better(ReduceKind kind, DType t, const Values& x, const Values& best, size_t k) {
    const bool max = kind == ReduceKind::argmax || kind == ReduceKind::argmax_last;
    const bool last = kind == ReduceKind::argmax_last || kind == ReduceKind::argmin_last;
    if (is_float(t)) {
      const double a = x.real[k], b = best.real[k];
      if (b != b) return last && a != a;
      if (a != a) return true;
      if (a == b) return last;
      return max ? a > b : a < b;
    }
    if (x.integer[k] == best.integer[k]) return last;
    return eval_compare_int(max ? BinaryOp::gt : BinaryOp::lt, t, x.integer[k], best.integer[k]);
  }

  // Statements.

  void execute(const StmtCode& s, const Lanes& lanes) {
    if (lanes.empty()) return;
    switch (s.kind) {
      case StmtCode::Kind::block:
        for (const StmtCode& part : s.bodies) execute(part, lanes);
        return;
      case StmtCode::Kind::allocate:
        line_ = s.line;
        make_memory(s.slot);
        execute(s.bodies[0], lanes);
        memories_[static_cast<size_t>(s.slot)] = Memory();
        return;
      case StmtCode::Kind::store:
        return store(s, lanes);
      case StmtCode::Kind::loop:
        return loop(s, lanes);
      case StmtCode::Kind::let: {
        line_ = s.line;
        Pool::Borrowed v(pool_);
        evaluate(s.exprs[0], lanes, *v);
        bind(s.slot, lanes, *v);
        return execute(s.bodies[0], lanes);
      }
      case StmtCode::Kind::condition: {
        line_ = s.line;
        std::vector<size_t> yes, no;
        split(s.exprs[0], lanes, yes, no);
        execute(s.bodies[0], pick(lanes, yes));
        if (s.bodies.size() > 1) execute(s.bodies[1], pick(lanes, no));
        return;
      }
      case StmtCode::Kind::tasks:
        return tasks(s, lanes);
      case StmtCode::Kind::barrier:
        return barrier(s, lanes);
      case StmtCode::Kind::nothing:
        return;
    }
  }

  void bind(int slot, const Lanes& lanes, const Values& v) {
    Values& to = variables_[static_cast<size_t>(slot)];
    const bool real = is_float(code_.slot_types[static_cast<size_t>(slot)]);
    if (real) {
      to.real.resize(all_.size());
    } else {
      to.integer.resize(all_.size());
    }
    to.any_undefined = false;
    for (size_t k = 0; k < lanes.size(); ++k)
      copy_value(to, static_cast<size_t>(lanes[k]), v, k, real, all_.size());
  }

  void store(const StmtCode& s, const Lanes& lanes) {
    line_ = s.line;
    Pool::Borrowed value(pool_);
    evaluate(s.exprs.back(), lanes, *value);
    Memory& m = memories_[static_cast<size_t>(s.slot)];
    std::vector<int64_t> at;
    locate(m, s.exprs, s.exprs.size() - 1, lanes, at, "store");
    for (size_t k = 0; k < lanes.size(); ++k) {
      if (at[k] < 0) continue;
      const auto i = static_cast<size_t>(at[k]);
      if (!m.shadow.empty()) note_write(m, at[k], access(m, lanes[k]), launch_, log_);
      if (m.holds_reals()) {
        m.real[i] = value->real[k];
      } else {
        m.integer[i] = wrap_to(m.code->declaration.dtype, value->integer[k]);
      }
      m.undefined[i] = value->origin(k);
    }
  }

  void loop(const StmtCode& s, const Lanes& lanes) {
    line_ = s.line;
    Pool::Borrowed begins(pool_), ends(pool_);
    evaluate(s.exprs[0], lanes, *begins);
    evaluate(s.exprs[1], lanes, *ends);
    const size_t n = lanes.size();
    bool same = true;
    for (size_t k = 0; k < n; ++k) {
      decide(*begins, k);
      decide(*ends, k);
      same =
          same && begins->integer[k] == begins->integer[0] && ends->integer[k] == ends->integer[0];
    }
    const bool blocks = s.loop == LoopKind::grid_block || s.loop == LoopKind::parallel;
    if (blocks && !in_launch_) return launch(s, begins->integer[0], ends->integer[0]);
    const bool parts = s.loop == LoopKind::block_warp || s.loop == LoopKind::warp_lane;
    if (parts && in_launch_) {
      SYMTILE_CHECK(same && n == all_.size(), "line {} of '{}': the loop over {} must be uniform",
                    s.line, f_.name, name_of(s.loop));
      return part(s, begins->integer[0], ends->integer[0]);
    }
    if (same) {
      const int64_t end = ends->integer[0];
      for (int64_t i = begins->integer[0]; i < end; i += s.step) {
        set_variable(s.slot, lanes, [&](size_t) { return i; });
        execute(s.bodies[0], lanes);
      }
      return;
    }
    std::vector<int64_t> at(begins->integer.begin(),
                            begins->integer.begin() + static_cast<std::ptrdiff_t>(n));
    const std::vector<int64_t> end(ends->integer.begin(),
                                   ends->integer.begin() + static_cast<std::ptrdiff_t>(n));
    for (;;) {
      Lanes active;
      std::vector<int64_t> values;
      for (size_t k = 0; k < n; ++k) {
        if (at[k] >= end[k]) continue;
        active.push_back(lanes[k]);
        values.push_back(at[k]);
        at[k] += s.step;
      }
      if (active.empty()) return;
      set_variable(s.slot, active, [&](size_t k) { return values[k]; });
      execute(s.bodies[0], active);
    }
  }

  /// A loop over blocks, or over the iterations of a parallel loop.
  void launch(const StmtCode& s, int64_t begin, int64_t end) {
    in_launch_ = true;
    in_lanes_ = s.loop == LoopKind::parallel;  // an iteration is one lane
    launch_ = next_block_;
    const Lanes all = all_;
    for (int64_t b = begin; b < end; b += s.step) {
      block_ = next_block_++;
      shared_epoch_ = global_epoch_ = 0;
      warps_ = lanes_per_warp_ = 1;
      warp_epochs_.assign(1, 0);
      set_variable(s.slot, all_, [&](size_t) { return b; });
      execute(s.bodies[0], all);
    }
    in_launch_ = in_lanes_ = false;
    // What follows is ordered behind all of them.
    launch_ = block_ = next_block_++;
  }

  /// The lanes of the block part: each becomes one per iteration of the loop.
  void part(const StmtCode& s, int64_t begin, int64_t end) {
    const int64_t count = end > begin ? (end - begin + s.step - 1) / s.step : 0;
    const auto outer = static_cast<int64_t>(all_.size());
    const std::vector<Values> saved = variables_;
    const Lanes saved_all = all_;
    const bool saved_in_lanes = in_lanes_;
    all_.clear();
    for (int64_t l = 0; l < outer * count; ++l) all_.push_back(static_cast<int>(l));
    for (Values& v : variables_) {
      spread(v.real, outer, count);
      spread(v.integer, outer, count);
      if (v.any_undefined) spread(v.undefined, outer, count);
    }
    if (s.loop == LoopKind::block_warp) {
      warps_ = static_cast<int>(count);
      warp_epochs_.assign(static_cast<size_t>(count), 0);
    } else {
      lanes_per_warp_ = static_cast<int>(count);
    }
    in_lanes_ = s.loop == LoopKind::warp_lane;
    set_variable(s.slot, all_,
                 [&](size_t k) { return begin + static_cast<int64_t>(k) % count * s.step; });
    execute(s.bodies[0], Lanes(all_));
    all_ = saved_all;
    variables_ = saved;
    in_lanes_ = saved_in_lanes;
    if (s.loop == LoopKind::warp_lane) lanes_per_warp_ = 1;
  }

  template <typename T>
  static void spread(std::vector<T>& v, int64_t outer, int64_t count) {
    if (static_cast<int64_t>(v.size()) < outer) return;  // a variable that is not in scope
    std::vector<T> out;
    out.reserve(static_cast<size_t>(outer * count));
    for (int64_t l = 0; l < outer; ++l)
      out.insert(out.end(), static_cast<size_t>(count), v[static_cast<size_t>(l)]);
    v = std::move(out);
  }

  using WorkerTasks = std::vector<std::vector<std::vector<int64_t>>>;

  const WorkerTasks& tasks_of_workers(const StmtCode& s, const Lanes& lanes) {
    std::vector<int64_t> extents;
    for (const ExprCode& e : s.extents) extents.push_back(uniform(e, lanes));
    const auto [it, is_new] = mappings_.try_emplace({&s, extents});
    if (!is_new) return it->second;
    TaskMapping mapping;
    size_t at = 0;
    for (const TaskMapping::Atom& atom : s.tasks->mapping.atoms()) {
      std::vector<DimExpr> dims;
      for (size_t d = 0; d < atom.extents.size(); ++d) dims.emplace_back(extents[at++]);
      mapping = mapping * (atom.kind == TaskMapping::Kind::spatial
                               ? TaskMapping::spatial(std::move(dims), atom.ranks)
                               : TaskMapping::repeat(std::move(dims), atom.ranks));
    }
    const int64_t workers = mapping.workers().as_const().value();
    for (int64_t w = 0; w < workers; ++w) it->second.push_back(mapping.tasks(w));
    return it->second;
  }

  void tasks(const StmtCode& s, const Lanes& lanes) {
    line_ = s.line;
    const WorkerTasks& mapping = tasks_of_workers(s, lanes);
    const auto workers = static_cast<int64_t>(mapping.size());
    Pool::Borrowed worker(pool_);
    evaluate(s.exprs[0], lanes, *worker);
    Lanes active;
    std::vector<const std::vector<std::vector<int64_t>>*> of_lane;
    for (size_t k = 0; k < lanes.size(); ++k) {
      decide(*worker, k);
      const int64_t w = worker->integer[k];
      if (w < 0 || w >= workers) {
        log_.add(FaultKind::out_of_bounds, line_, 0, "",
                 fmt::format("worker {} of a mapping of {}, lane {}", w, workers, lanes[k]));
        continue;
      }
      active.push_back(lanes[k]);
      of_lane.push_back(&mapping[static_cast<size_t>(w)]);
    }
    const size_t count = of_lane.empty() ? 0 : of_lane[0]->size();
    for (size_t t = 0; t < count; ++t) {
      for (size_t d = 0; d < s.slots.size(); ++d)
        set_variable(s.slots[d], active, [&](size_t k) { return (*of_lane[k])[t][d]; });
      execute(s.bodies[0], active);
    }
  }

  void barrier(const StmtCode& s, const Lanes& lanes) {
    line_ = s.line;
    if (s.scope == Scope::warp) {
      std::vector<int> reached(warp_epochs_.size(), 0);
      for (const int lane : lanes) ++reached[static_cast<size_t>(warp_of(lane))];
      for (size_t w = 0; w < reached.size(); ++w) {
        if (reached[w] != 0 && reached[w] != lanes_per_warp_) {
          log_.add(FaultKind::divergent_barrier, s.line, 0, "",
                   fmt::format("{} of the {} lanes of warp {} reach it", reached[w],
                               lanes_per_warp_, w));
        }
        if (reached[w]) ++warp_epochs_[w];
      }
      return;
    }
    if (lanes.size() != all_.size()) {
      log_.add(FaultKind::divergent_barrier, s.line, 0, "",
               fmt::format("{} of the {} work-items of block {} reach it", lanes.size(),
                           all_.size(), block_ - launch_));
    }
    ++shared_epoch_;
    if (s.scope != Scope::shared) ++global_epoch_;
  }

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
};

}  // namespace
}  // namespace emulation

Emulation emulate_tile(const TileFunction& f, const DimValues& symbols,
                       const std::vector<const RefTensor*>& inputs) {
  SYMTILE_CHECK(inputs.size() == f.inputs.size(), "'{}' takes {} inputs", f.name, f.inputs.size());
  const emulation::Code code = emulation::compile(f);
  return emulation::Machine(f, code).run(symbols, inputs);
}

}  // namespace symtile
