// The subcommands of `symtile`: one file each, added to the command line by a function.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "symtile/driver/driver.h"
#include "symtile/driver/run_inputs.h"

namespace symtile::cli {

void add_bench(CLI::App& app);
void add_compile(CLI::App& app);
/// Sets `exit_code` to 1 when a case fails.
void add_conform(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app);
void add_run(CLI::App& app);
void add_schedules(CLI::App& app);
/// Sets `exit_code` to 4 when the outputs differ: that is our bug.
void add_verify(CLI::App& app, int& exit_code);

/// Options that every command that compiles shares.
struct CompileFlags {
  std::vector<std::string> facts;  ///< what the compiler may assume of dimensions
  std::vector<std::string> cpus;
  std::vector<std::string> targets = {"cpu"};
  int threads = 0;
  bool no_optimize = false;

  /// `fact_option`: "--dim" where dimensions have no value, as in `compile`, else "--fact".
  void add_to(CLI::App& command, const char* fact_option);
  /// For commands that run the model: one device, "cpu" by default.
  void add_device_to(CLI::App& command);
  /// For commands that only compile it.
  void add_targets_to(CLI::App& command);
  const std::string& device() const { return targets.front(); }
  /// Throws CLI::ValidationError for a CPU level that does not exist.
  CompileOptions options() const;
};

/// Options of the commands that make up inputs.
struct InputFlags {
  InputSpec input;

  void add_to(CLI::App& command);
  const InputSpec& spec() const { return input; }
};

/// Prints JSON to stdout; bytes that are no UTF-8 are replaced.
void print_json_text(const nlohmann::json& json);

}  // namespace symtile::cli
