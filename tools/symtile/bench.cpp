// symtile bench FILE --dim B=1 --dim W=320: times a model on random inputs
#include "symtile/driver/bench.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace symtile::cli {
namespace {

struct Flags {
  std::string model;
  InputFlags inputs;
  CompileFlags compile;
  int runs = 0;
  bool json = false;
};

std::string dims_text(const DimValues& symbols) {
  std::vector<std::string> out;
  for (const auto& [name, value] : symbols) out.push_back(fmt::format("{}={}", name, value));
  return out.empty() ? "fixed shapes" : fmt::format("{}", fmt::join(out, " "));
}

void print_report(const Flags& flags, const DimValues& symbols, const BenchResult& r,
                  std::optional<double> compile_seconds) {
  fmt::print("{} at {}, {} thread{}, {} runs\n", flags.model, dims_text(symbols), r.threads,
             r.threads == 1 ? "" : "s", r.runs);
  if (compile_seconds) fmt::print("  compiled   {:.2f} s\n", *compile_seconds);
  fmt::print("  time       median {:.3f} ms, p90 {:.3f} ms, min {:.3f} ms\n", r.median_ms, r.p90_ms,
             r.min_ms);
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print("  memory     {:.2f} MB planned, {:.2f} MB held with outputs, constants {:.2f} MB\n",
             megabytes(r.arena_bytes), megabytes(r.held_bytes), megabytes(r.constant_bytes));
  double total = 0;
  size_t width = 6;
  for (const KernelTime& k : r.kernels) {
    total += k.ms;
    width = std::max(width, k.name.size());
  }
  if (r.kernels.empty()) return;
  fmt::print("\n  {:{}}  calls        ms  share\n", "kernel", width);
  for (const KernelTime& k : r.kernels) {
    fmt::print("  {:{}}  {:5.0f}  {:8.3f}  {:4.1f}%\n", k.name, width, k.calls, k.ms,
               total > 0 ? 100 * k.ms / total : 0);
  }
  fmt::print("  {:{}}         {:8.3f}\n", "all kernels", width, total);
}

void print_json(const Flags& flags, const DimValues& symbols, const BenchResult& r,
                std::optional<double> compile_seconds) {
  nlohmann::json out{{"model", flags.model},       {"dims", symbols},
                     {"threads", r.threads},       {"runs", r.runs},
                     {"median_ms", r.median_ms},   {"p90_ms", r.p90_ms},
                     {"min_ms", r.min_ms},         {"arena_bytes", r.arena_bytes},
                     {"held_bytes", r.held_bytes}, {"constant_bytes", r.constant_bytes},
                     {"compile_s", nullptr},       {"kernels", nlohmann::json::array()}};
  if (compile_seconds) out["compile_s"] = *compile_seconds;
  for (const KernelTime& k : r.kernels) {
    out["kernels"].push_back({{"name", k.name}, {"calls", k.calls}, {"ms", k.ms}});
  }
  print_json_text(out);
}

void run(const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const bool compiles = detect_file(flags.model) != FileKind::artifact;
  const api::Model model = open_model(flags.model, flags.compile.facts, flags.compile.options());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const RunInputs inputs = make_run_inputs(model, flags.inputs.spec());
  BenchOptions options;
  options.threads = flags.compile.threads;
  options.runs = flags.runs;
  options.device = flags.compile.device();
  const BenchResult result = bench(model, inputs, options);
  const auto compile_seconds = compiles ? std::optional(seconds.count()) : std::nullopt;
  (flags.json ? print_json : print_report)(flags, inputs.symbols, result, compile_seconds);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("bench", "time a model on random inputs");
  command->add_option("model", flags->model, "artifact, ONNX model or module text")->required();
  flags->inputs.add_to(*command);
  flags->compile.add_to(*command, "--fact");
  flags->compile.add_device_to(*command);
  command->add_option("--runs", flags->runs, "timed runs (0: for about a second)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", flags->json, "print one JSON object");
  command->callback([flags] { run(*flags); });
}

}  // namespace symtile::cli
