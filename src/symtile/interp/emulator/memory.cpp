#include "symtile/interp/emulator/memory.h"

#include <fmt/format.h>

#include "symtile/ir/text_format.h"

namespace symtile {

std::string_view name_of(FaultKind kind) {
  constexpr std::string_view names[] = {"race",          "block conflict",     "divergent barrier",
                                        "out of bounds", "uninitialised read", "never written",
                                        "in flight"};
  return names[static_cast<size_t>(kind)];
}

std::string Fault::str() const {
  return fmt::format("line {}: {}: {}\n    {}", line, name_of(kind), message, text);
}

namespace emulation {
namespace {

bool ordered(const Access& before, const Access& now, int64_t launch) {
  if (before.block < launch) return true;  // also: nobody
  if (before.block != now.block) return false;
  if (before.lane == now.lane || before.epoch != now.epoch) return true;
  return before.warp == now.warp && before.warp_epoch != now.warp_epoch;
}

std::string who(const Access& a) { return fmt::format("lane {} of block {}", a.lane, a.block); }

void report(const Memory& m, int64_t at, const Access& before, const Access& now, int64_t launch,
            const char* first, const char* second, FaultLog& log) {
  const bool blocks = before.block != now.block;
  const std::string name = value_name(m.code->declaration.name);
  const auto shown = [&](Access a) {
    a.block -= launch;
    return who(a);
  };
  log.add(blocks ? FaultKind::block_conflict : FaultKind::race, now.line, before.line, name,
          fmt::format("element {} of {} is {} by {} and was {} in line {} by {}, {}", at, name,
                      second, shown(now), first, before.line, shown(before),
                      blocks ? "and blocks are not ordered" : "with no barrier between"));
}

}  // namespace

void FaultLog::add(FaultKind kind, int line, int other_line, const std::string& buffer,
                   std::string message) {
  if (faults_.size() >= kMaxFaults) return;
  if (!seen_.insert(fmt::format("{} {} {} {}", static_cast<int>(kind), line, other_line, buffer))
           .second) {
    return;
  }
  std::string text;
  if (line >= 1 && line <= static_cast<int>(lines_.size())) {
    text = lines_[static_cast<size_t>(line) - 1];
    text.erase(0, text.find_first_not_of(' '));
  }
  faults_.push_back({kind, line, other_line, std::move(text), std::move(message)});
}

void note_read(Memory& m, int64_t at, const Access& now, int64_t launch, FaultLog& log) {
  Shadow& s = m.shadow[static_cast<size_t>(at)];
  if (!ordered(s.writer, now, launch)) report(m, at, s.writer, now, launch, "written", "read", log);
  if (s.reader.block == now.block && s.reader.lane == now.lane) {
    s.reader = now;
    return;
  }
  if (s.reader.block != now.block) {
    s.far_reader = s.reader;
  } else {
    s.other_reader = s.reader;
  }
  s.reader = now;
}

void note_write(Memory& m, int64_t at, const Access& now, int64_t launch, FaultLog& log) {
  Shadow& s = m.shadow[static_cast<size_t>(at)];
  if (!ordered(s.writer, now, launch)) {
    report(m, at, s.writer, now, launch, "written", "written", log);
  }
  for (const Access* reader : {&s.reader, &s.other_reader, &s.far_reader}) {
    if (!ordered(*reader, now, launch)) {
      report(m, at, *reader, now, launch, "read", "written", log);
      break;
    }
  }
  s.writer = now;
}

}  // namespace emulation
}  // namespace symtile
