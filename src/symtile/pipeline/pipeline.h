// From a module to an artifact: which passes run, in which order, and the code for every target.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "symtile/backend/vm/lower_program.h"
#include "symtile/pass/pass.h"
#include "symtile/target/cpu_target.h"
#include "symtile/target/gpu_target.h"

namespace symtile {

struct CompileOptions {
  /// What code is generated for: "cpu" and kinds of devices ("opencl").
  std::vector<std::string> targets = {"cpu"};
  /// Levels of the target cpu; empty: the level of this machine.
  std::vector<CpuLevel> cpus;
  int threads = 0;       ///< compile threads; 0: all cores
  bool optimize = true;  ///< false: only what is needed to run (the reference for `verify`)
  bool verify_each = false;
  /// Phase name, steps done and steps in all.
  std::function<void(const std::string& phase, int done, int total)> progress;
  /// After every pass.
  std::function<void(const PassRecord&, const Module&)> after_pass;
  std::vector<std::string>* explain = nullptr;
  FusionReport* fusion = nullptr;  ///< filled by the fuse pass
};

struct CompileSummary {
  int operators = 0;  ///< bindings of main before lowering
  int kernels = 0;    ///< distinct tile functions
  int launches = 0;   ///< tile calls in all graph functions
  int64_t constant_bytes = 0;
  std::string arena_formula;
  double seconds = 0;
  std::vector<PassTiming> timings;  ///< passes, then "schedule + code"
};

struct CompiledModel {
  Module module;  ///< after the last pass
  LoweredProgram lowered;
  std::vector<format::CodeSection> code;
  std::vector<format::DeviceSection> devices;
  format::Manifest manifest;
  CompileSummary summary;

  format::ArtifactParts parts() const;
};

/// The names of the passes, in order.
const std::vector<std::string>& pass_order(bool optimize);

/// Runs the passes only.
void run_passes(Module& module, const CompileOptions& options,
                std::vector<PassTiming>* timings = nullptr);

CompiledModel compile(Module module, const CompileOptions& options);

/// The tile functions that graph functions call, scheduled for one CPU level, in artifact order.
std::vector<TileFunction> schedule_kernels(const Module& module,
                                           const std::vector<std::string>& names,
                                           const CpuTarget& target);
std::vector<TileFunction> schedule_kernels(const Module& module,
                                           const std::vector<std::string>& names,
                                           const GpuTarget& target);

/// The text of one kernel for a kind of device, without the helper functions it calls.
std::string device_source(const TileFunction& f, const GpuTarget& target);

}  // namespace symtile
