// Helper functions of printed kernels: the meaning of scalar operators (docs/ir.md, "Numbers")
// where no C operator has it. Text in the common part of the C-like languages.
//
// The dialect defines beforehand: the types i8 ... u64, f32 (and f64), the macro ST_FN that opens a
// function, and ST_BITS_F32(x), ST_F32_BITS(x) that reinterpret 32 bits; ST_F64 where it has f64.
#pragma once

#include <string>

namespace symtile::c_source {

/// What a program needs beyond integers and f32.
struct PreludeParts {
  bool f64 = false;
  bool f16 = false;
  bool bf16 = false;
};

/// The helpers that `kernels` calls, type by type, and perhaps others: drivers compile all of them.
std::string prelude(const PreludeParts& parts, const std::string& kernels);

}  // namespace symtile::c_source
