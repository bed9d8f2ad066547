// symtile: compile, run and look into models. Exit codes: 0 done, 1 the model or input is at
// fault, 2 usage, 3 environment, 4 our bug.
#include <cstdio>
#include <new>

#include "commands.h"
#include "symtile/base/check.h"

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
  cli::add_compile(app);
  cli::add_inspect(app);
  cli::add_run(app);
  const auto report = [](const char* what, int code) {
    std::fprintf(stderr, "%s\n", what);
    return code;
  };
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : (app.exit(e), 2);
  } catch (const UserError& e) {
    return report(e.what(), 1);
  } catch (const EnvironmentError& e) {
    return report((std::string("error: ") + e.what()).c_str(), 3);
  } catch (const api::Error& e) {
    return report(e.what(), e.status());
  } catch (const std::bad_alloc&) {
    return report("error: out of memory", 3);
  } catch (const std::exception& e) {
    return report(e.what(), 4);
  }
}
