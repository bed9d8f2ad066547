// How long a model takes at one shape: whole runs first, then its kernels one by one.
#pragma once

#include <string>
#include <vector>

#include "symtile/driver/run_inputs.h"

namespace symtile {

struct BenchOptions {
  int threads = 0;  ///< 0: all
  std::string device = "cpu";
  int runs = 0;  ///< 0: for about a second, at least 10
};

/// A kernel or library call; both numbers are of one run.
struct KernelTime {
  std::string name;
  double calls = 0;
  double ms = 0;
};

struct BenchResult {
  int threads = 0, runs = 0;
  double median_ms = 0, p90_ms = 0, min_ms = 0;
  int64_t arena_bytes = 0;
  int64_t held_bytes = 0;  ///< by the session: arenas, heap, scratch of threads, outputs
  uint64_t constant_bytes = 0;
  std::vector<KernelTime> kernels;  ///< the slowest first
};

/// Kernels are measured in runs of their own, so that measuring does not count in the run times.
BenchResult bench(const api::Model& model, const RunInputs& inputs, const BenchOptions& options);

}  // namespace symtile
