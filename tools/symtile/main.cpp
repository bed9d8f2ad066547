// symtile: compile, run and look into models.
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "commands.h"

namespace symtile::cli {

void CompileFlags::add_to(CLI::App& command, const char* fact_option) {
  command.add_option(
      fact_option, facts,
      "what the compiler may assume of a dimension: NAME=LO..HI, NAME=VALUE or a fact "
      "such as 'NAME % 8 == 0' (repeatable)");
  command.add_option("--cpu", cpus, "CPU level: native, x86-64-v2, v3, v4, armv8 (repeatable)")
      ->delimiter(',');
  command.add_option("--threads", threads, "threads (0: all)");
  command.add_flag("--no-optimize", no_optimize, "only the passes that are needed to run");
}

CompileOptions CompileFlags::options() const {
  CompileOptions out;
  for (const std::string& name : cpus) {
    const auto level = name == "native" ? native_cpu_level() : parse_cpu_level(name);
    if (!level)
      throw UserError("error: '" + name +
                      "' is no CPU level; use native, x86-64-v2, x86-64-v3, x86-64-v4 or armv8");
    out.cpus.push_back(*level);
  }
  out.threads = threads;
  out.optimize = !no_optimize;
  return out;
}

void InputFlags::add_to(CLI::App& command) {
  command.add_option("--dim", input.dims,
                     "value of a dimension, NAME=VALUE, or shape of an input, INPUT=AxBxC "
                     "(repeatable)");
  command.add_option("--input", input.files,
                     "INPUT=FILE.npy instead of random numbers (repeatable)");
  command.add_option("--fill", input.fills, "INPUT=NUMBER: every element of an input (repeatable)");
  command.add_option("--seed", input.seed, "of the random numbers");
}

void print_json_text(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace symtile::cli

int main(int argc, char** argv) {
  using namespace symtile;
  CLI::App app{"symtile: compile a model once, run it at every shape"};
  app.require_subcommand(1);
  int exit_code = 0;
  cli::add_bench(app);
  cli::add_compile(app);
  cli::add_conform(app, exit_code);
  cli::add_inspect(app);
  cli::add_run(app);
  cli::add_verify(app, exit_code);
  return cli::run_command_line(app, argc, argv, exit_code);
}
