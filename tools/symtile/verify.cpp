// symtile verify MODEL --dim NAME=VALUE: compiled program against the interpreter
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "symtile/driver/verify_model.h"

namespace symtile::cli {
namespace {

struct Flags {
  std::string model;
  InputFlags inputs;
  CompileFlags compile;
  bool json = false;
};

void print_report(const VerifyReport& report) {
  for (const OutputCheck& o : report.outputs) {
    fmt::print("{} {}: ", o.mismatch.empty() ? "ok    " : "DIFFERS", o.name);
    fmt::print("{}\n",
               o.mismatch.empty() ? fmt::format("max error {:.2e}", o.max_error) : o.mismatch);
  }
  if (report.agree()) return;
  if (!report.pass.empty()) fmt::print("pass    {}\n", report.pass);
  if (!report.kernel.empty()) fmt::print("kernel  {}\n", report.kernel);
  if (!report.value.empty()) fmt::print("value   {}\n", report.value);
  fmt::print("        {}\n", report.detail);
}

void print_json(const Flags& flags, const DimValues& dims, const VerifyReport& report) {
  nlohmann::json out{{"model", flags.model},    {"dims", dims},
                     {"agree", report.agree()}, {"pass", report.pass},
                     {"kernel", report.kernel}, {"value", report.value},
                     {"detail", report.detail}, {"outputs", nlohmann::json::array()}};
  for (const OutputCheck& o : report.outputs) {
    out["outputs"].push_back(
        {{"name", o.name}, {"max_error", o.max_error}, {"mismatch", o.mismatch}});
  }
  print_json_text(out);
}

void run(const Flags& flags, int& exit_code) {
  VerifyOptions options;
  options.compile = flags.compile.options();
  options.threads = flags.compile.threads;
  options.device = flags.compile.device();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) {
    options.progress = [](const std::string& text) {
      std::fprintf(stderr, "\r\033[K%s", text.c_str());
    };
  }
  const Module module = load_program(flags.model, flags.compile.facts);
  const auto bytes = format::artifact_bytes(compile(module, options.compile).parts());
  const api::Model program(bytes.data(), bytes.size());
  const RunInputs inputs = make_run_inputs(program, flags.inputs.spec());
  const VerifyReport report = verify_model(module, program, inputs.values, options);
  if (terminal) std::fprintf(stderr, "\r\033[K");
  if (flags.json) {
    print_json(flags, inputs.symbols, report);
  } else {
    print_report(report);
  }
  if (!report.agree()) exit_code = 4;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("verify", "compare the compiled program with the interpreter");
  command->add_option("model", flags->model, "ONNX model or module text")->required();
  flags->inputs.add_to(*command);
  flags->compile.add_to(*command, "--fact");
  flags->compile.add_device_to(*command);
  command->add_flag("--json", flags->json, "print one JSON object");
  command->callback([flags, &exit_code] { run(*flags, exit_code); });
}

}  // namespace symtile::cli
