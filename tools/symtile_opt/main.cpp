// symtile-opt --pass a,b FILE.sym: runs passes on the text form of a module and prints the text.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "symtile/driver/driver.h"
#include "symtile/op/op.h"
#include "symtile/transform/passes.h"

namespace symtile::cli {
namespace {

struct Flags {
  std::string file;
  std::vector<std::string> passes, facts;
  bool list = false, json = false, verify = false, explain = false, locations = false;
  bool no_constants = false, time = false;
};

struct Result {
  Module module;
  std::vector<std::string> notes;
  std::vector<PassTiming> timings;
};

void print_json_text(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void list_passes(bool json) {
  nlohmann::json out = nlohmann::json::array();
  for (const PassRecord& p : all_passes()) {
    out.push_back({{"name", p.name}, {"level", p.level}, {"summary", p.summary}});
    if (!json) fmt::print("{:20} {:8} {}\n", p.name, p.level, p.summary);
  }
  if (json) print_json_text(out);
}

/// A name that is no pass is wrong usage.
std::vector<const PassRecord*> find_passes(const std::vector<std::string>& names) {
  std::vector<const PassRecord*> out;
  for (const std::string& name : names) {
    const PassRecord* pass = find_pass(name);
    if (!pass) throw CLI::ValidationError("--pass", "there is no pass '" + name + "'; see --list");
    out.push_back(pass);
  }
  return out;
}

Result run_passes_of(const Flags& flags) {
  const std::vector<const PassRecord*> passes = find_passes(flags.passes);
  Result out;
  out.module = load_module(flags.file, flags.facts);
  PassContext context;
  context.check_ops = [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); };
  if (flags.explain || flags.json) context.explain = &out.notes;
  PassManager manager(passes, context);
  manager.verify_each = manager.verify_each || flags.verify;
  manager.run(out.module);
  out.timings = manager.timings();
  return out;
}

void run(const Flags& flags) {
  if (flags.list) return list_passes(flags.json);
  if (flags.file.empty()) throw CLI::RequiredError("file");
  const Result result = run_passes_of(flags);
  PrintOptions printing;
  printing.locations = flags.locations;
  printing.constants = !flags.no_constants;
  const std::string text = print(result.module, printing);
  if (flags.json) {
    nlohmann::json passes = nlohmann::json::array();
    for (const PassTiming& t : result.timings) {
      passes.push_back({{"name", t.name}, {"seconds", t.seconds}});
    }
    print_json_text({{"passes", passes}, {"notes", result.notes}, {"module", text}});
    return;
  }
  for (const std::string& note : result.notes) std::fprintf(stderr, "%s\n", note.c_str());
  if (flags.time) {
    for (const PassTiming& t : result.timings) {
      std::fprintf(stderr, "%-20s %.6f s\n", t.name.c_str(), t.seconds);
    }
  }
  fmt::print("{}", text);
}

}  // namespace
}  // namespace symtile::cli

int main(int argc, char** argv) {
  using namespace symtile;
  CLI::App app{"symtile-opt: run passes on a module and print it"};
  cli::Flags flags;
  app.add_option("file", flags.file, "module text (.sym) or ONNX model");
  app.add_option("--pass", flags.passes, "passes, in order, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--dim", flags.facts, "what may be assumed of a dimension (repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--list", flags.list, "list all passes");
  app.add_flag("--verify-each", flags.verify, "check the module after every pass");
  app.add_flag("--explain", flags.explain, "print the decisions of the passes to stderr");
  app.add_flag("--time", flags.time, "print the seconds of every pass to stderr");
  app.add_flag("--locations", flags.locations, "print where bindings come from");
  app.add_flag("--no-constants", flags.no_constants, "print constants as dtype and shape only");
  app.add_flag("--json", flags.json, "print one JSON object: passes, notes, module");
  app.callback([&flags] { cli::run(flags); });
  return cli::run_command_line(app, argc, argv, 0);
}
