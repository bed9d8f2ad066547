// The machine: runs, statements, and who takes part in them.
#include <fmt/format.h>

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/interp/emulator/machine.h"

namespace symtile {
namespace emulation {

Emulation Machine::run(const DimValues& symbols, const std::vector<const RefTensor*>& inputs) {
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

void Machine::execute(const StmtCode& s, const Lanes& lanes) {
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
    case StmtCode::Kind::copy:
      return copy(s, lanes);
    case StmtCode::Kind::commit:
      return commit(lanes);
    case StmtCode::Kind::wait:
      return wait(s, lanes);
    case StmtCode::Kind::together:
      line_ = s.line;
      check_whole_warps(s, lanes);
      return execute(s.bodies[0], lanes);
    case StmtCode::Kind::nothing:
      return;
  }
}

void Machine::bind(int slot, const Lanes& lanes, const Values& v) {
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

void Machine::store(const StmtCode& s, const Lanes& lanes) {
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
    if (!landing_.empty()) touch_copied(s.slot, at[k], true);
    if (m.holds_reals()) {
      m.real[i] = value->real[k];
    } else {
      m.integer[i] = wrap_to(m.code->declaration.dtype, value->integer[k]);
    }
    m.undefined[i] = value->origin(k);
  }
}

void Machine::loop(const StmtCode& s, const Lanes& lanes) {
  line_ = s.line;
  Pool::Borrowed begins(pool_), ends(pool_);
  evaluate(s.exprs[0], lanes, *begins);
  evaluate(s.exprs[1], lanes, *ends);
  const size_t n = lanes.size();
  bool same = true;
  for (size_t k = 0; k < n; ++k) {
    decide(*begins, k);
    decide(*ends, k);
    same = same && begins->integer[k] == begins->integer[0] && ends->integer[k] == ends->integer[0];
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

void Machine::launch(const StmtCode& s, int64_t begin, int64_t end) {
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
    no_copies_left();
  }
  in_launch_ = in_lanes_ = false;
  // What follows is ordered behind all of them.
  launch_ = block_ = next_block_++;
}

void Machine::part(const StmtCode& s, int64_t begin, int64_t end) {
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

const WorkerTasks& Machine::tasks_of_workers(const StmtCode& s,
                                             const std::vector<int64_t>& extents) {
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

void Machine::tasks(const StmtCode& s, const Lanes& lanes) {
  line_ = s.line;
  // Extents may differ between lanes: then one lane after the other.
  std::vector<int64_t> extents;
  for (const ExprCode& e : s.extents) {
    Pool::Borrowed v(pool_);
    evaluate(e, lanes, *v);
    for (size_t k = 0; k < lanes.size(); ++k) {
      decide(*v, k);
      if (v->integer[k] == v->integer[0]) continue;
      for (const int lane : lanes) tasks(s, {lane});
      return;
    }
    extents.push_back(v->integer[0]);
  }
  const WorkerTasks& mapping = tasks_of_workers(s, extents);
  Pool::Borrowed worker(pool_);
  evaluate(s.exprs[0], lanes, *worker);
  Lanes active;
  std::vector<const std::vector<std::vector<int64_t>>*> of_lane;
  for (size_t k = 0; k < lanes.size(); ++k) {
    decide(*worker, k);
    const int64_t w = worker->integer[k];
    if (w < 0 || w >= static_cast<int64_t>(mapping.size())) continue;  // no tasks
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

std::vector<int> Machine::check_whole_warps(const StmtCode& s, const Lanes& lanes) {
  std::vector<int> reached(warp_epochs_.size(), 0);
  for (const int lane : lanes) ++reached[static_cast<size_t>(warp_of(lane))];
  for (size_t w = 0; w < reached.size(); ++w) {
    if (reached[w] == 0 || reached[w] == lanes_per_warp_) continue;
    log_.add(FaultKind::divergent_barrier, s.line, 0, "",
             fmt::format("{} of the {} lanes of warp {} reach it", reached[w], lanes_per_warp_, w));
  }
  return reached;
}

void Machine::barrier(const StmtCode& s, const Lanes& lanes) {
  line_ = s.line;
  if (s.scope == Scope::warp) {
    const std::vector<int> reached = check_whole_warps(s, lanes);
    for (size_t w = 0; w < reached.size(); ++w) {
      if (reached[w]) ++warp_epochs_[w];
    }
    return;
  }
  if (lanes.size() != all_.size()) {
    log_.add(FaultKind::divergent_barrier, s.line, 0, "",
             fmt::format("{} of the {} work-items of block {} reach it", lanes.size(), all_.size(),
                         block_ - launch_));
  }
  ++shared_epoch_;
  if (s.scope != Scope::shared) ++global_epoch_;
}

}  // namespace emulation

Emulation emulate_tile(const TileFunction& f, const DimValues& symbols,
                       const std::vector<const RefTensor*>& inputs) {
  SYMTILE_CHECK(inputs.size() == f.inputs.size(), "'{}' takes {} inputs", f.name, f.inputs.size());
  const emulation::Code code = emulation::compile(f);
  return emulation::Machine(f, code).run(symbols, inputs);
}

}  // namespace symtile
