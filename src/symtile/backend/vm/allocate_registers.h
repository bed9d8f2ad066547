// From one register a value to as few as are alive at once, with heap memory released after its
// last use. Small register files stay in the cache.
#pragma once

#include "symtile/format/program.h"

namespace symtile {

/// Marks the heap tensors that become outputs of the entry function, so that they can be made in
/// memory of the caller.
void mark_outputs(format::Function& f);

/// `f.registers` counts virtual registers on entry and real ones afterwards.
void allocate_registers(format::Function& f);

}  // namespace symtile
