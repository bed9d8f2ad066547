// symtile: compile, run and look into models.
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "commands.h"

namespace symtile::cli {

namespace {

/// An option that may be given several times, each time with one value: what follows is no value.
CLI::Option* add_list(CLI::App& command, const char* name, std::vector<std::string>& values,
                      const char* help) {
  return command.add_option(name, values, std::string(help) + " (repeatable)")
      ->allow_extra_args(false);
}

}  // namespace

void CompileFlags::add_to(CLI::App& command, const char* fact_option) {
  add_list(command, fact_option, facts,
           "what the compiler may assume of a dimension: NAME=LO..HI, NAME=VALUE or a fact such as "
           "'NAME % 8 == 0'");
  add_list(command, "--cpu", cpus,
           "CPU level: native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-vnni, armv8")
      ->delimiter(',');
  command.add_option("--threads", threads, "threads (0: all)")->check(CLI::Range(0, 1024));
  command.add_flag("--no-optimize", no_optimize, "only the passes that are needed to run");
}

void CompileFlags::add_device_to(CLI::App& command) {
  command.add_option_function<std::string>(
      "--device", [this](const std::string& name) { targets = {name}; },
      "where kernels run: cpu or opencl");
}

void CompileFlags::add_targets_to(CLI::App& command) {
  command.add_option("--target", targets, "what to generate code for: cpu, opencl")
      ->delimiter(',')
      ->allow_extra_args(false);
}

CompileOptions CompileFlags::options() const {
  CompileOptions out;
  out.targets = targets;
  for (const std::string& name : cpus) {
    const auto level = name == "native" ? native_cpu_level() : parse_cpu_level(name);
    if (!level) {
      throw CLI::ValidationError("--cpu",
                                 "'" + name +
                                     "' is no CPU level; use native, x86-64-v2, x86-64-v3, "
                                     "x86-64-v4, x86-64-v4-vnni or armv8");
    }
    out.cpus.push_back(*level);
  }
  out.threads = threads;
  out.optimize = !no_optimize;
  return out;
}

void InputFlags::add_to(CLI::App& command) {
  add_list(command, "--dim", input.dims,
           "value of a dimension, NAME=VALUE, or shape of an input, INPUT=AxBxC");
  add_list(command, "--input", input.files, "INPUT=FILE.npy instead of random numbers");
  add_list(command, "--fill", input.fills, "INPUT=NUMBER: every element of an input");
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
  cli::add_schedules(app);
  cli::add_verify(app, exit_code);
  return cli::run_command_line(app, argc, argv, exit_code);
}
