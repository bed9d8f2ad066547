// symtile inspect MODEL [--after PASS] [--kernel K]
#include "commands.h"
#include "symtile/backend/llvm/compile_cpu.h"
#include "symtile/schedule/schedule.h"
#include "symtile/transform/passes.h"

namespace symtile::cli {
namespace {

void print_kernel(const Module& module, const std::string& name, const std::string& view, const CpuTarget& target) {
  const TileFunction* f = module.find_tile(name);
  if (!f) throw UserError("error: there is no kernel '" + name + "'");
  const TileFunction scheduled = schedule_for_cpu(*f, target);
  if (view == "compute") {
    fmt::print("{}", print(*f));
  } else if (view == "scheduled") {
    fmt::print("{}", print(scheduled));
  } else {
    const CodeView code = view == "llvm" ? CodeView::optimized_llvm_ir : CodeView::assembly;
    fmt::print("{}", view_code(scheduled, target, code));
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  struct Flags {
    std::string model, after, kernel, view = "scheduled";
    CompileFlags compile;
    bool list = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("inspect", "look into a model: its IR after any pass, its kernels");
  command->add_option("model", flags->model, "ONNX model or module text")->required();
  command->add_option("--after", flags->after, "print the module after this pass ('import': before any)");
  command->add_option("--kernel", flags->kernel, "print one kernel");
  command->add_option("--view", flags->view, "of the kernel: compute, scheduled, llvm, assembly");
  command->add_flag("--kernels", flags->list, "list the kernels and their schedules");
  flags->compile.add_to(*command);
  command->callback([flags] {
    CompileOptions options = flags->compile.options();
    Module module = load_module(flags->model, flags->compile.dims);
    PrintOptions printing;
    printing.constants = false;
    if (flags->after == "import") {
      fmt::print("{}", print(module, printing));
      return;
    }
    bool printed = false;
    options.after_pass = [&](const PassRecord& pass, const Module& m) {
      if (flags->after == pass.name) {
        if (!printed) fmt::print("{}", print(m, printing));
        printed = true;
      }
    };
    run_passes(module, options);
    if (!flags->after.empty()) {
      if (!printed) throw UserError("error: pass '" + flags->after + "' does not run; passes: " +
                                    fmt::format("{}", fmt::join(pass_order(options.optimize), ", ")));
      return;
    }
    const CpuTarget& target = cpu_target(options.cpus.empty() ? native_cpu_level() : options.cpus.front());
    if (!flags->kernel.empty()) {
      print_kernel(module, flags->kernel, flags->view, target);
    } else if (flags->list) {
      for (const std::string& name : module.tile_names()) {
        fmt::print("{:48} {}\n", name, schedule_name(module.tile(name), target));
      }
    } else {
      fmt::print("{}", print(module, printing));
    }
  });
}

}  // namespace symtile::cli
