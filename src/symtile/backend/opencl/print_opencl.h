// Scheduled GPU tile functions in, one OpenCL C 1.2 program out.
//
// 64-bit floats and halves use extensions only where a kernel mentions them; a device without
// cl_khr_fp16 converts halves in software. Floats are neither reassociated nor contracted, except
// that a product added in a reduction is one fused operation where the device has it.
#pragma once

#include <string>
#include <vector>

#include "symtile/backend/c_source/print_kernel.h"

namespace symtile {

struct OpenclCode {
  std::string source;
  std::vector<c_source::PrintedKernel> kernels;  ///< in the order of the functions, without text
};

OpenclCode print_opencl(const std::vector<TileFunction>& scheduled);

/// For people: the kernels of one function, without the helper functions they call.
std::string view_opencl(const TileFunction& scheduled);

}  // namespace symtile
