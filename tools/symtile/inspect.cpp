// symtile inspect FILE [--after PASS] [--kernel K] [--memory]
#include "inspect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "symtile/backend/llvm/compile_cpu.h"
#include "symtile/backend/vm/lower_program.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/format/print_program.h"
#include "symtile/schedule/schedule.h"
#include "symtile/transform/fusion_report.h"
#include "symtile/transform/passes.h"

namespace symtile::cli {
namespace {

std::string text_of(const Module& module) {
  PrintOptions printing;
  printing.constants = false;
  return print(module, printing);
}

void print_text(const InspectFlags& flags, const char* key, const std::string& text) {
  if (flags.json) {
    print_json_text({{"model", flags.file}, {key, text}});
  } else {
    fmt::print("{}", text);
  }
}

/// The kernel for a kind of device.
std::string device_code(const TileFunction& f, const InspectFlags& flags) {
  const auto target = parse_gpu_target(flags.compile.targets.front());
  if (!target) {
    fail(DiagId::unknown_name, {}, "there is no target '{}'", flags.compile.targets.front());
  }
  if (flags.view == "scheduled") return print(schedule_for_gpu(f, *target));
  if (flags.view.empty() || flags.view == "source") return device_source(f, *target);
  fail(DiagId::bad_input, {}, "a kernel for {} has the views compute, scheduled and source",
       target->name);
}

std::string kernel_code(const TileFunction& f, const std::string& view, const CpuTarget& target) {
  if (view == "compute") return print(f);
  if (view == "source") {
    fail(DiagId::bad_input, {}, "only kernels for a device have a source; add --target opencl");
  }
  const TileFunction scheduled = schedule_for_cpu(f, target);
  if (view == "scheduled") return print(scheduled);
  return view_code(scheduled, target,
                   view == "llvm" ? CodeView::optimized_llvm_ir : CodeView::assembly);
}

void inspect_kernel(const Module& module, const InspectFlags& flags, const CpuTarget& target) {
  const TileFunction* f = module.find_tile(flags.kernel);
  if (!f) {
    fail(DiagId::unknown_name, {}, "there is no kernel '{}'; the kernels are: {}", flags.kernel,
         fmt::join(module.tile_names(), ", "));
  }
  const bool on_cpu = flags.compile.device() == "cpu";
  const std::string view = flags.view.empty() ? (on_cpu ? "scheduled" : "source") : flags.view;
  const std::string code =
      on_cpu || view == "compute" ? kernel_code(*f, view, target) : device_code(*f, flags);
  if (!flags.json) {
    fmt::print("{}", code);
    return;
  }
  print_json_text({{"kernel", flags.kernel},
                   {"schedule", schedule_name(*f, target)},
                   {"view", view},
                   {"code", code}});
}

void list_kernels(const Module& module, bool json, const CpuTarget& target) {
  nlohmann::json out = nlohmann::json::array();
  for (const std::string& name : module.tile_names()) {
    const std::string schedule = schedule_name(module.tile(name), target);
    out.push_back({{"name", name}, {"schedule", schedule}});
    if (!json) fmt::print("{:48} {}\n", name, schedule);
  }
  if (json) print_json_text({{"kernels", out}});
}

/// The module after the pass of flags.after ("import": before any), as text.
std::string module_after(Module& module, const InspectFlags& flags, CompileOptions& options) {
  if (flags.after == "import") return text_of(module);
  const std::vector<std::string>& order = pass_order(options.optimize);
  if (std::find(order.begin(), order.end(), flags.after) == order.end()) {
    fail(DiagId::unknown_name, {}, "no pass '{}' runs; the passes are: import, {}", flags.after,
         fmt::join(order, ", "));
  }
  std::optional<std::string> text;  // of the first run of the pass
  options.after_pass = [&](const PassRecord& pass, const Module& m) {
    if (!text && flags.after == pass.name) text = text_of(m);
  };
  run_passes(module, options);
  return text.value_or("");
}

void inspect_model(const InspectFlags& flags) {
  CompileOptions options = flags.compile.options();
  std::vector<std::string> facts = flags.compile.facts;
  if (!flags.memory) facts.insert(facts.end(), flags.dims.begin(), flags.dims.end());
  Module module = load_program(flags.file, facts);
  if (!flags.after.empty()) {
    return print_text(flags, "module", module_after(module, flags, options));
  }
  FusionReport fusion;
  if (flags.fusion) options.fusion = &fusion;
  run_passes(module, options);
  const CpuTarget& target =
      cpu_target(options.cpus.empty() ? native_cpu_level() : options.cpus.front());
  if (flags.fusion) return inspect_fusion(flags.file, fusion, flags.json);
  if (flags.memory) return inspect_memory(module, flags);
  if (!flags.kernel.empty()) return inspect_kernel(module, flags, target);
  if (flags.kernels) return list_kernels(module, flags.json, target);
  if (flags.program) {
    return print_text(flags, "program", format::to_text(lower_to_program(module).program));
  }
  print_text(flags, "module", text_of(module));
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = app.add_subcommand(
      "inspect", "look into a model or an artifact: IR after any pass, kernels, memory");
  command->add_option("file", flags->file, "artifact, ONNX model or module text")->required();
  command->add_option("--after", flags->after,
                      "print the module after this pass ('import': before any)");
  command->add_option("--kernel", flags->kernel, "print one kernel");
  command
      ->add_option("--view", flags->view,
                   "of the kernel; by default its schedule, or with --target opencl its source")
      ->check(CLI::IsMember({"compute", "scheduled", "llvm", "assembly", "source"}));
  command->add_flag("--kernels", flags->kernels, "list the kernels and their schedules");
  command->add_flag("--memory", flags->memory,
                    "the memory formula, where every value lives, and their sizes at --dim");
  command->add_flag("--fusion", flags->fusion,
                    "which operator went into which kernel, and why others did not");
  command->add_flag("--program", flags->program, "the program of the virtual machine");
  command->add_flag("--json", flags->json, "print one JSON object");
  command
      ->add_option("--dim", flags->dims,
                   "with --memory, a value: NAME=VALUE; else as --fact (repeatable)")
      ->allow_extra_args(false);
  flags->compile.add_to(*command, "--fact");
  flags->compile.add_targets_to(*command);
  command->callback([flags] {
    if (detect_file(flags->file) == FileKind::artifact) {
      inspect_artifact(*flags);
    } else {
      inspect_model(*flags);
    }
  });
}

}  // namespace symtile::cli
