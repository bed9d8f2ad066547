// symtile: compile, run and look into models.
#include "command_line.h"
#include "commands.h"

namespace symtile::cli {

void CompileFlags::add_to(CLI::App& command) {
  command.add_option("--dim", dims, "fact about a dimension: NAME=LO..HI or NAME=VALUE (repeatable)");
  command.add_option("--cpu", cpus, "CPU level: native, x86-64-v2, v3, v4, armv8 (repeatable)")->delimiter(',');
  command.add_option("--threads", threads, "threads (0: all)");
  command.add_flag("--no-optimize", no_optimize, "only the passes that are needed to run");
}

CompileOptions CompileFlags::options() const {
  CompileOptions out;
  for (const std::string& name : cpus) {
    const auto level = name == "native" ? native_cpu_level() : parse_cpu_level(name);
    if (!level) throw UserError("error: '" + name + "' is no CPU level; use native, x86-64-v2, x86-64-v3, x86-64-v4 or armv8");
    out.cpus.push_back(*level);
  }
  out.threads = threads;
  out.optimize = !no_optimize;
  return out;
}

}  // namespace symtile::cli

int main(int argc, char** argv) {
  using namespace symtile;
  CLI::App app{"symtile: compile a model once, run it at every shape"};
  app.require_subcommand(1);
  int exit_code = 0;
  cli::add_compile(app);
  cli::add_conform(app, exit_code);
  cli::add_inspect(app);
  cli::add_run(app);
  return cli::run_command_line(app, argc, argv, exit_code);
}
