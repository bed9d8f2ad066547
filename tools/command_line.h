// How every tool runs its command line, and how it ends. Exit codes: 0 done, 1 the model or input
// is at fault, 2 usage, 3 environment, 4 our bug.
#pragma once

#include <CLI/CLI.hpp>

namespace symtile::cli {

/// Parses the arguments, which runs the callbacks of `app`; whatever they throw becomes a message
/// on stderr and the exit code. `exit_code` is that of a command that ran to its end.
int run_command_line(CLI::App& app, int argc, char** argv, const int& exit_code);

}  // namespace symtile::cli
