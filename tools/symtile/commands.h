// The subcommands of `symtile`: one file each, added to the command line by a function.
#pragma once

#include <CLI/CLI.hpp>

#include "symtile/driver/driver.h"

namespace symtile::cli {

void add_compile(CLI::App& app);
/// Sets `exit_code` to 1 when a case fails.
void add_conform(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app);
void add_run(CLI::App& app);

/// Options that every command that compiles shares.
struct CompileFlags {
  std::vector<std::string> dims;
  std::vector<std::string> cpus;
  int threads = 0;
  bool no_optimize = false;

  void add_to(CLI::App& command);
  /// Throws UserError for a CPU level that does not exist.
  CompileOptions options() const;
};

}  // namespace symtile::cli
