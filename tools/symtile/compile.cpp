// symtile compile MODEL -o OUT.symtile
#include <unistd.h>

#include <cstdio>

#include "commands.h"
#include "symtile/driver/memory_bound.h"
#include "symtile/format/artifact.h"

namespace symtile::cli {
namespace {

/// One line on a terminal that is overwritten; nothing elsewhere.
class Progress {
 public:
  explicit Progress(bool quiet) : on_(!quiet && isatty(STDERR_FILENO)) {}
  void operator()(const std::string& phase, int done, int total) {
    if (!on_) return;
    const double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (phase != phase_) {
      phase_ = phase;
      start_ = std::chrono::steady_clock::now();
    }
    std::fprintf(stderr, "\r\033[K%s: %d of %d", phase.c_str(), done, total);
    if (done > 0 && done < total && elapsed > 0.5)
      std::fprintf(stderr, ", %.0f s left", elapsed / done * (total - done));
  }
  ~Progress() {
    if (on_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool on_;
  std::string phase_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

void add_compile(CLI::App& app) {
  struct Flags {
    std::string model, out;
    CompileFlags compile;
    bool quiet = false, verify = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("compile", "compile a model into one artifact");
  command->add_option("model", flags->model, "ONNX model, or module text (.sym)")->required();
  command->add_option("-o,--output", flags->out, "artifact to write")->required();
  command->add_flag("--quiet", flags->quiet, "print nothing but errors");
  command->add_flag("--verify-each", flags->verify, "check the module after every pass");
  flags->compile.add_to(*command, "--dim");
  flags->compile.add_targets_to(*command);
  command->callback([flags] {
    CompileOptions options = flags->compile.options();
    options.verify_each = flags->verify;
    auto progress = std::make_shared<Progress>(flags->quiet);
    options.progress = [progress](const std::string& phase, int done, int total) {
      (*progress)(phase, done, total);
    };
    const CompiledModel model = compile_file(flags->model, flags->compile.facts, options);
    save_artifact(model.parts(), flags->out);
    progress.reset();
    options.progress = nullptr;
    if (flags->quiet) return;
    const CompileSummary& s = model.summary;
    fmt::print("{}: {} operators in {} launches of {} kernels\n", flags->out, s.operators,
               s.launches, s.kernels);
    fmt::print("  constants  {:.2f} MB\n", static_cast<double>(s.constant_bytes) / 1e6);
    const auto& arena = model.module.graph(Module::kMain).arena_bytes;
    fmt::print("  memory     {} bytes\n", short_formula(arena.value_or(DimExpr(0))));
    fmt::print("  compiled in {:.2f} s\n", s.seconds);
  });
}

}  // namespace symtile::cli
