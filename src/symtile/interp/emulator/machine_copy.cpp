// The machine: asynchronous copies. A copy may happen at any time between its statement and the
// wait of its lane, so whatever touches its target or changes its source in between is a fault.
#include <fmt/format.h>

#include "symtile/interp/emulator/machine.h"
#include "symtile/ir/text_format.h"

namespace symtile::emulation {

void Machine::copy(const StmtCode& s, const Lanes& lanes) {
  line_ = s.line;
  Memory &to = memories_[static_cast<size_t>(s.slot)],
         &from = memories_[static_cast<size_t>(s.source)];
  std::vector<int64_t> to_at, from_at;
  std::vector<Copy> begun(lanes.size());
  // The last element too must be inside; those between then are.
  const auto ends = [&](std::vector<ExprCode> indices) {
    ExprCode last;
    last.integer = s.step - 1;
    ExprCode sum;
    sum.kind = ExprCode::Kind::binary;
    sum.binary = BinaryOp::add;
    sum.parts = {indices.back(), last};
    indices.back() = sum;
    return indices;
  };
  std::vector<int64_t> to_end, from_end;
  locate(to, s.exprs, s.exprs.size(), lanes, to_at, "copy to");
  locate(to, ends(s.exprs), s.exprs.size(), lanes, to_end, "copy to");
  locate(from, s.from, s.from.size(), lanes, from_at, "copy from");
  locate(from, ends(s.from), s.from.size(), lanes, from_end, "copy from");
  for (size_t k = 0; k < lanes.size(); ++k) {
    if (to_at[k] < 0 || to_end[k] < 0 || from_at[k] < 0 || from_end[k] < 0) continue;
    Copy& c = begun[k];
    c.line = s.line;
    c.to = s.slot;
    c.from = s.source;
    for (int64_t e = 0; e < s.step; ++e) {
      const int64_t source = from_at[k] + e * from.strides.back(),
                    target = to_at[k] + e * to.strides.back();
      if (!landing_.empty()) {
        touch_copied(s.source, source, false);
        touch_copied(s.slot, target, true);
      }
      if (!from.shadow.empty()) note_read(from, source, access(from, lanes[k]), launch_, log_);
      if (!to.shadow.empty()) note_write(to, target, access(to, lanes[k]), launch_, log_);
      const auto i = static_cast<size_t>(source), o = static_cast<size_t>(target);
      if (to.holds_reals()) {
        to.real[o] = from.real[i];
      } else {
        to.integer[o] = from.integer[i];
      }
      to.undefined[o] = from.undefined[i] == kNeverWritten ? line_ : from.undefined[i];
      c.to_at.push_back(target);
      c.from_at.push_back(source);
    }
  }
  // Lanes copy at the same time: what one begins is in flight for the next.
  for (size_t k = 0; k < lanes.size(); ++k) {
    Copy& c = begun[k];
    if (c.to < 0) continue;
    const auto begin = [&](std::map<Place, InFlight>& copies, int buffer, int64_t at) {
      InFlight& one = copies[{buffer, at}];
      one.line = c.line;
      ++one.count;
    };
    for (const int64_t at : c.to_at) begin(landing_, c.to, at);
    for (const int64_t at : c.from_at) begin(leaving_, c.from, at);
    copies_[lanes[k]].open.push_back(std::move(c));
  }
}

void Machine::commit(const Lanes& lanes) {
  for (const int lane : lanes) {
    CopiesOfLane& of = copies_[lane];
    of.groups.push_back(std::move(of.open));
    of.open.clear();
  }
}

void Machine::wait(const StmtCode& s, const Lanes& lanes) {
  for (const int lane : lanes) {
    auto& groups = copies_[lane].groups;
    while (static_cast<int64_t>(groups.size()) > s.step) {
      for (const Copy& c : groups.front()) finish(c, lane);
      groups.pop_front();
    }
  }
}

void Machine::finish(const Copy& c, int lane) {
  Memory& to = memories_[static_cast<size_t>(c.to)];
  line_ = c.line;
  const auto end = [](std::map<Place, InFlight>& copies, const Place& place) {
    const auto it = copies.find(place);
    if (it != copies.end() && --it->second.count == 0) copies.erase(it);
  };
  for (const int64_t at : c.to_at) {
    end(landing_, {c.to, at});
    // The elements are there from now on: other lanes need a barrier behind the wait.
    if (!to.shadow.empty()) note_write(to, at, access(to, lane), launch_, log_);
  }
  for (const int64_t at : c.from_at) end(leaving_, {c.from, at});
}

void Machine::touch_copied(int buffer, int64_t at, bool writes) {
  report_copied(landing_, {buffer, at}, writes);
  if (writes) report_copied(leaving_, {buffer, at}, writes);
}

void Machine::report_copied(const std::map<Place, InFlight>& copies, const Place& place,
                            bool writes) {
  const auto it = copies.find(place);
  if (it == copies.end()) return;
  const std::string name =
      value_name(code_.buffers[static_cast<size_t>(place.first)].declaration.name);
  log_.add(FaultKind::in_flight, line_, it->second.line, name,
           fmt::format("element {} of {} is {} while the copy of line {} {} it", place.second, name,
                       writes ? "written" : "read", it->second.line,
                       &copies == &landing_ ? "writes" : "reads"));
}

void Machine::no_copies_left() {
  for (const auto& [place, copies] : landing_) {
    const std::string name =
        value_name(code_.buffers[static_cast<size_t>(place.first)].declaration.name);
    log_.add(FaultKind::in_flight, copies.line, 0, name,
             fmt::format("a copy to {} is in flight where the block ends", name));
  }
  copies_.clear();
  landing_.clear();
  leaving_.clear();
}

}  // namespace symtile::emulation
