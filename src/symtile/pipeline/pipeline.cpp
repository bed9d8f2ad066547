#include "symtile/pipeline/pipeline.h"

#include "symtile/backend/llvm/compile_cpu.h"
#include "symtile/backend/opencl/print_opencl.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/op/op.h"
#include "symtile/schedule/schedule.h"
#include "symtile/schedule/work.h"
#include "symtile/transform/passes.h"

namespace symtile {
namespace {

constexpr const char* kProducer = "symtile 0.1.0";

int count_launches(const Module& module) {
  int launches = 0;
  for (const std::string& name : module.graph_names()) {
    for (const Binding& b : module.graph(name).bindings)
      launches += std::holds_alternative<TileCall>(b.node);
  }
  return launches;
}

int count_operators(const Module& module) {
  int operators = 0;
  for (const std::string& name : module.graph_names()) {
    for (const Binding& b : module.graph(name).bindings)
      operators += std::holds_alternative<OpCall>(b.node);
  }
  return operators;
}

format::CodeSection make_section(const Module& module, const LoweredProgram& lowered,
                                 const CpuTarget& target, const CompileOptions& options) {
  const std::vector<TileFunction> kernels = schedule_kernels(module, lowered.kernels, target);
  CpuCodegenOptions codegen;
  codegen.threads = options.threads;
  const std::string phase = fmt::format("code for {}", name_of(target.level));
  if (options.progress) {
    codegen.progress = [&](int done, int total) { options.progress(phase, done, total); };
  }
  CpuCode code = compile_cpu(kernels, target, codegen);
  format::CodeSection section;
  section.info.level = std::string(name_of(target.level));
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<std::string>& symbols = kernels[i].symbols;
    const DimExpr work = estimated_work(module.tile(lowered.kernels[i]));
    section.info.kernels.push_back(
        {code.kernels[i].symbol, lower_formula(code.kernels[i].parallel_extent, symbols),
         lower_formula(code.kernels[i].scratch_bytes, symbols), lower_formula(work, symbols)});
  }
  section.object = std::move(code.shared_object);
  return section;
}

/// A device target says what schedules may count on, and prints them.
struct DeviceBackend {
  const GpuTarget& target;
  OpenclCode (*print)(const std::vector<TileFunction>& scheduled);
  std::string (*view)(const TileFunction& scheduled);
};

const DeviceBackend& device_backend(const std::string& name) {
  static const DeviceBackend backends[] = {
      {opencl_target(), print_opencl, view_opencl},
  };
  std::string known = "cpu";
  for (const DeviceBackend& b : backends) {
    if (b.target.name == name) return b;
    known += ", " + b.target.name;
  }
  fail(DiagId::unknown_name, {}, "there is no target '{}'; the targets are: {}", name, known);
}

format::DeviceSection make_device_section(const Module& module, const LoweredProgram& lowered,
                                          const DeviceBackend& backend) {
  const std::vector<TileFunction> kernels =
      schedule_kernels(module, lowered.kernels, backend.target);
  OpenclCode code = backend.print(kernels);
  format::DeviceSection section;
  section.info.device = backend.target.name;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<std::string>& symbols = kernels[i].symbols;
    const c_source::PrintedKernel& printed = code.kernels[i];
    format::DeviceKernel& kernel = section.info.kernels.emplace_back();
    kernel.has_workspace = !printed.workspace_bytes.is_const(0);
    kernel.workspace_bytes = lower_formula(printed.workspace_bytes, symbols);
    for (const c_source::PrintedLaunch& launch : printed.launches) {
      kernel.launches.push_back({launch.name, lower_formula(launch.blocks, symbols),
                                 static_cast<uint32_t>(launch.threads)});
    }
  }
  section.text = std::move(code.source);
  return section;
}

}  // namespace

void run_passes(Module& module, const CompileOptions& options, std::vector<PassTiming>* timings) {
  PassContext context;
  context.check_ops = [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); };
  context.explain = options.explain;
  context.fusion = options.fusion;
  std::vector<const PassRecord*> passes;
  for (const std::string& name : pass_order(options.optimize)) {
    const PassRecord* pass = find_pass(name);
    SYMTILE_CHECK(pass != nullptr, "pass '{}' is not in passes.def", name);
    passes.push_back(pass);
  }
  PassManager manager(passes, context);
  manager.verify_each = manager.verify_each || options.verify_each;
  int done = 0;
  manager.after = [&](const PassRecord& pass, const Module& m) {
    if (options.progress) options.progress("passes", ++done, static_cast<int>(passes.size()));
    if (options.after_pass) options.after_pass(pass, m);
  };
  manager.run(module);
  if (timings) *timings = manager.timings();
}

std::vector<TileFunction> schedule_kernels(const Module& module,
                                           const std::vector<std::string>& names,
                                           const CpuTarget& target) {
  std::vector<TileFunction> out;
  for (const std::string& name : names) out.push_back(schedule_for_cpu(module.tile(name), target));
  return out;
}

std::vector<TileFunction> schedule_kernels(const Module& module,
                                           const std::vector<std::string>& names,
                                           const GpuTarget& target) {
  std::vector<TileFunction> out;
  for (const std::string& name : names) out.push_back(schedule_for_gpu(module.tile(name), target));
  return out;
}

std::string device_source(const TileFunction& f, const GpuTarget& target) {
  return device_backend(target.name).view(schedule_for_gpu(f, target));
}

format::ArtifactParts CompiledModel::parts() const {
  format::ArtifactParts parts;
  parts.manifest = manifest;
  parts.program = lowered.program;
  for (const Constant& c : lowered.constants) parts.constants.emplace_back(c->bytes);
  parts.code = code;
  parts.devices = devices;
  return parts;
}

CompiledModel compile(Module module, const CompileOptions& options) {
  for (const std::string& target : options.targets) {
    if (target != "cpu") (void)device_backend(target);  // a wrong name shows at once
  }
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CompiledModel out;
  out.summary.operators = count_operators(module);
  run_passes(module, options, &out.summary.timings);
  out.module = std::move(module);
  out.lowered = lower_to_program(out.module);
  const double passes_done = seconds();
  for (const std::string& target : options.targets) {
    if (target != "cpu") {
      out.devices.push_back(make_device_section(out.module, out.lowered, device_backend(target)));
      continue;
    }
    std::vector<CpuLevel> levels = options.cpus;
    if (levels.empty()) levels.push_back(native_cpu_level());
    for (const CpuLevel level : levels) {
      out.code.push_back(make_section(out.module, out.lowered, cpu_target(level), options));
    }
  }
  out.summary.timings.push_back({"schedule + code", seconds() - passes_done});
  out.summary.kernels = static_cast<int>(out.lowered.kernels.size());
  out.summary.launches = count_launches(out.module);
  for (const Constant& c : out.lowered.constants)
    out.summary.constant_bytes += static_cast<int64_t>(c->bytes.size());
  const GraphFunction& main = out.module.graph(Module::kMain);
  out.summary.arena_formula = main.arena_bytes ? main.arena_bytes->str() : "0";
  out.manifest = make_manifest(out.lowered, kProducer);
  out.summary.seconds = seconds();
  return out;
}

}  // namespace symtile
