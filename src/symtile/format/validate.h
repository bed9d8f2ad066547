// Proves before execution that a program cannot make the virtual machine leave its own tables:
// every index is in range, registers are defined before use, counts at calls agree, callees come
// before callers (so there is no recursion). Extents and arena bounds are checked as it runs.
#pragma once

#include "symtile/format/device_code.h"
#include "symtile/format/program.h"

namespace symtile::format {

/// Throws UserError that names the function and the instruction.
void validate(const Program& program, uint64_t constant_bytes);
void validate(const CodeInfo& code, const Program& program);
void validate(const DeviceInfo& device, const Program& program);

/// product(dims) * size_of(dtype), or throws UserError: negative dimension or overflow.
int64_t byte_size(DType dtype, std::span<const int64_t> dims);

}  // namespace symtile::format
