// Runs one scheduled tile function as its device does, and reports what the device would not.
//
// Blocks run one after another; the lanes of a block run in lockstep under masks. Faults are found
// by shadow state, not by luck: every element of memory that work-items share remembers who wrote
// and who read it last, in which block and behind which barrier, so an unordered pair of accesses
// is found whatever order they ran in. A `parallel` loop is a launch whose iterations are blocks of
// one lane. Numbers are those of the interpreter: double precision, rounded by casts only.
//
// Undefined memory may be read; it is a fault when the value decides something: an output, a
// condition, a loop bound or an index.
#pragma once

#include <string>
#include <vector>

#include "symtile/ir/module.h"
#include "symtile/op/ref_tensor.h"

namespace symtile {

enum class FaultKind : uint8_t {
  race,               ///< two work-items of a block touch an element without a barrier between
  block_conflict,     ///< two blocks (or parallel iterations) touch an element, one writing
  divergent_barrier,  ///< not all work-items reach it
  out_of_bounds,
  uninitialised_read,
  never_written,  ///< an element of an output
  in_flight,      ///< a copy that was not waited for: read or written meanwhile, or never ended
};
std::string_view name_of(FaultKind kind);

/// Lines are those of print(function), from 1.
struct Fault {
  FaultKind kind;
  int line = 0;        ///< of the access that completes the fault
  int other_line = 0;  ///< of the earlier access of a pair; 0 otherwise
  std::string text;    ///< the line
  std::string message;
  /// "line 7: race: ...\n    %a[i] = ..."
  std::string str() const;
};

struct Emulation {
  std::vector<RefTensor> outputs;
  std::vector<Fault> faults;  ///< each kind, place and buffer once; at most kMaxFaults
};
inline constexpr size_t kMaxFaults = 64;

/// As run_tile: inputs may have other dims than their buffers when the element count agrees.
Emulation emulate_tile(const TileFunction& f, const DimValues& symbols,
                       const std::vector<const RefTensor*>& inputs);

}  // namespace symtile
