// Memory of the emulator: values, what is undefined, and who touched each element.
#pragma once

#include "symtile/interp/emulator.h"
#include "symtile/interp/emulator/code.h"

namespace symtile::emulation {

/// Who accesses, and when: two accesses are ordered when they are one lane's, or a barrier of the
/// block (of the warp) stands between, or one launch ended before the other began.
struct Access {
  int64_t block = -1;  ///< counts over all launches; -1: nobody
  int lane = 0, warp = 0;
  int epoch = 0;  ///< barriers of the block that order this memory, so far
  int warp_epoch = 0;
  int line = 0;
};

struct Shadow {
  Access writer;
  Access reader, other_reader;  ///< the last two of different lanes
  Access far_reader;            ///< of another block than `reader`
};

/// Value of `undefined`: written and defined; positive: undefined since it was read at that line.
inline constexpr int kDefined = 0;
inline constexpr int kNeverWritten = -1;

struct Memory {
  const BufferCode* code = nullptr;
  std::vector<int64_t> dims, strides;
  int64_t elements = 0;    ///< of one copy
  int made_for_lanes = 1;  ///< lanes that ran when it was allocated
  int copies = 1;
  bool shared_out = false;  ///< several work-items see one copy
  bool is_global = false;   ///< ordered by global barriers
  std::vector<double> real;
  std::vector<int64_t> integer;
  std::vector<int> undefined;
  std::vector<Shadow> shadow;  ///< empty: private, or never written

  bool holds_reals() const { return is_float(code->declaration.dtype); }
};

/// Collects faults, each place once.
class FaultLog {
 public:
  explicit FaultLog(const std::vector<std::string>& lines) : lines_(lines) {}
  void add(FaultKind kind, int line, int other_line, const std::string& buffer,
           std::string message);
  std::vector<Fault> take() { return std::move(faults_); }

 private:
  const std::vector<std::string>& lines_;
  std::set<std::string> seen_;
  std::vector<Fault> faults_;
};

/// Notes the access and reports it when it is not ordered behind an earlier one that conflicts.
/// `launch` is the number of the first block of the present launch.
void note_read(Memory& m, int64_t at, const Access& now, int64_t launch, FaultLog& log);
void note_write(Memory& m, int64_t at, const Access& now, int64_t launch, FaultLog& log);

}  // namespace symtile::emulation
