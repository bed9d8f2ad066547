// NumPy's .npy files, format versions 1 to 3: how tensors enter and leave the command line.
#pragma once

#include <filesystem>

#include "symtile/ir/constant.h"

namespace symtile {

/// Little-endian numeric and bool arrays in C order (Fortran order is transposed on reading).
/// Anything else is a bad_npy diagnostic; a missing file an EnvironmentError.
Constant read_npy(const std::filesystem::path& file);
Constant parse_npy(std::string_view bytes, const std::string& name);

/// f16 is written as such; bf16, which numpy lacks, as f32. Throws EnvironmentError.
void write_npy(const std::filesystem::path& file, const ConstantData& data);

}  // namespace symtile
