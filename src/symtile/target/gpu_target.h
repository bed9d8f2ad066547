// What a device of blocks, warps and lanes can do, as plain facts: GPU schedules read nothing else.
//
// The numbers are floors that every device of the kind has, not measurements, so that one kernel
// text serves all of them. A "warp" is a group of lanes of the work-group; no schedule may rely on
// lanes running in lockstep unless has_subgroups says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace symtile {

struct GpuTarget {
  std::string name;              ///< "opencl"
  int lanes = 32;                ///< of a warp
  int max_threads = 256;         ///< work-items per block
  int64_t shared_bytes = 32768;  ///< shared memory per block
  int vector_bytes = 16;         ///< widest load or store of one lane
  int registers = 128;           ///< 32-bit registers per lane
  bool has_f16 = false;          ///< arithmetic in f16; without it f16 is a storage type
  bool has_f64 = true;
  bool has_async_copies = false;     ///< from global to shared memory, behind the lane's back
  bool has_matrix_multiply = false;  ///< mma_m16n8k16 of docs/ir.md; needs warps of 32 lanes
  bool has_subgroups = false;        ///< lanes of a warp can exchange values without shared memory
};

/// The OpenCL 1.2 device every schedule may count on.
const GpuTarget& opencl_target();
/// By name; nullopt otherwise.
std::optional<GpuTarget> parse_gpu_target(std::string_view name);

}  // namespace symtile
