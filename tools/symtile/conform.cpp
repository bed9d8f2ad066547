// symtile conform DIR [--filter GLOB]: runs ONNX test cases
#include "symtile/driver/conform.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"

namespace symtile::cli {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void print_case(const CaseResult& c) {
  fmt::print("{:11} {} ({}): {}\n", name_of(c.status), c.name, fmt::join(c.operators, ", "),
             c.detail);
}

void print_operators(const ConformReport& report) {
  const auto table = report.by_operator();
  size_t width = 8;
  for (const auto& entry : table) width = std::max(width, entry.first.size());
  fmt::print("\n{:{}}  passed  failed  unsupported\n", "operator", width);
  for (const auto& [op, n] : table) {
    fmt::print("{:{}}  {:6}  {:6}  {:11}\n", op, width, n.passed, n.failed, n.unsupported);
  }
}

void print_report(const ConformReport& report, bool verbose) {
  for (const CaseResult& c : report.cases) {
    const bool expected = c.status == CaseStatus::passed || c.status == CaseStatus::unsupported;
    if (!expected || verbose) print_case(c);
  }
  print_operators(report);
  fmt::print("\n");
  for (const CaseStatus s : {CaseStatus::passed, CaseStatus::wrong, CaseStatus::unsupported,
                             CaseStatus::error, CaseStatus::crashed}) {
    fmt::print("{:4} {}\n", report.count(s), name_of(s));
  }
  fmt::print("{} passed, {} failed, {} skipped\n", report.count(CaseStatus::passed),
             report.failed(), report.count(CaseStatus::unsupported));
}

nlohmann::json to_json(const ConformReport& report) {
  nlohmann::json out{{"passed", report.count(CaseStatus::passed)},
                     {"wrong", report.count(CaseStatus::wrong)},
                     {"unsupported", report.count(CaseStatus::unsupported)},
                     {"error", report.count(CaseStatus::error)},
                     {"crashed", report.count(CaseStatus::crashed)},
                     {"operators", nlohmann::json::object()},
                     {"cases", nlohmann::json::array()}};
  for (const auto& [op, n] : report.by_operator()) {
    out["operators"][op] = {
        {"passed", n.passed}, {"failed", n.failed}, {"unsupported", n.unsupported}};
  }
  for (const CaseResult& c : report.cases) {
    out["cases"].push_back({{"name", c.name},
                            {"status", name_of(c.status)},
                            {"operators", c.operators},
                            {"detail", c.detail},
                            {"inputs_fixed", c.inputs_fixed},
                            {"seconds", c.seconds}});
  }
  return out;
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  struct Flags {
    std::string folder, filter = "*", device = "cpu";
    bool json = false, reference = false, verbose = false, no_optimize = false;
    bool symbolic = false;
    int jobs = 0, every = 1;
    double timeout = 120;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("conform", "run folders of ONNX test cases");
  command->add_option("folder", flags->folder, "one case, or a folder that holds cases")
      ->required();
  command->add_option("--filter", flags->filter, "only the cases whose name matches this pattern");
  command->add_flag("--reference", flags->reference, "the interpreter instead of compiled code");
  command->add_flag("--no-optimize", flags->no_optimize, "only the passes that are needed to run");
  command->add_option("--every", flags->every, "only each n-th of them")
      ->check(CLI::PositiveNumber);
  command->add_option("--device", flags->device, "where kernels run: cpu or opencl");
  command->add_flag("--symbolic", flags->symbolic, "make the extents of all inputs symbols");
  command->add_flag("--verbose", flags->verbose, "list all cases, not only those that fail");
  command->add_flag("--json", flags->json, "print one JSON object");
  command->add_option("--jobs", flags->jobs, "cases at a time (0: one for each processor)");
  command->add_option("--timeout", flags->timeout, "seconds for one case")
      ->check(CLI::PositiveNumber);
  command->callback([flags, &exit_code] {
    ConformOptions options;
    options.filter = flags->filter;
    options.every = flags->every;
    options.cases = {flags->reference, !flags->no_optimize, flags->device, flags->symbolic};
    options.limits.jobs = flags->jobs > 0
                              ? flags->jobs
                              : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    options.limits.timeout = std::chrono::milliseconds(static_cast<int64_t>(flags->timeout * 1000));
    const bool terminal = isatty(STDERR_FILENO) != 0;
    int failed = 0;
    options.progress = [&](const CaseResult& c, size_t done, size_t total) {
      failed += c.status != CaseStatus::passed && c.status != CaseStatus::unsupported;
      if (!terminal) return;
      std::fprintf(stderr, "\r\033[K%zu of %zu, %d failed: %s", done, total, failed,
                   first_line(c.name).c_str());
      if (done == total) std::fprintf(stderr, "\r\033[K");
    };
    const ConformReport report = conform(flags->folder, options);
    if (flags->json) {
      print_json_text(to_json(report));
    } else {
      print_report(report, flags->verbose);
    }
    if (report.failed() > 0) exit_code = 1;
  });
}

}  // namespace symtile::cli
