// symtile schedules MODEL --kernel K: every schedule that the kernel's template can make
#include <nlohmann/json.hpp>

#include "commands.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/schedule/space.h"

namespace symtile::cli {
namespace {

struct Flags {
  std::string model, kernel, device;
  CompileFlags compile;
  bool json = false;
};

std::vector<ScheduleCandidate> space_of(const TileFunction& f, const Flags& flags,
                                        const CompileOptions& options) {
  if (flags.device.empty()) {
    return schedule_space(
        f, cpu_target(options.cpus.empty() ? native_cpu_level() : options.cpus.front()));
  }
  const auto target = parse_gpu_target(flags.device);
  if (!target) {
    throw CLI::ValidationError("--device", "'" + flags.device + "' is no device; use opencl");
  }
  return schedule_space(f, *target);
}

void run(const Flags& flags) {
  const CompileOptions options = flags.compile.options();
  Module module = load_program(flags.model, flags.compile.facts);
  run_passes(module, options);
  const TileFunction* f = module.find_tile(flags.kernel);
  if (!f) {
    fail(DiagId::unknown_name, {}, "there is no kernel '{}'; the kernels are: {}", flags.kernel,
         fmt::join(module.tile_names(), ", "));
  }
  const std::vector<ScheduleCandidate> space = space_of(*f, flags, options);
  if (!flags.json) {
    for (const ScheduleCandidate& c : space) fmt::print("{}\n", c.str());
    fmt::print("{} schedules; the first is used without tuning\n", space.size());
    return;
  }
  nlohmann::json candidates = nlohmann::json::array();
  for (const ScheduleCandidate& c : space) {
    nlohmann::json parameters = nlohmann::json::object();
    for (const auto& [name, value] : c.parameters) parameters[name] = value;
    candidates.push_back({{"template", c.name}, {"parameters", parameters}});
  }
  print_json_text({{"model", flags.model}, {"kernel", flags.kernel}, {"schedules", candidates}});
}

}  // namespace

void add_schedules(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("schedules", "list the schedules that the template of a kernel can make");
  command->add_option("model", flags->model, "ONNX model or module text")->required();
  command->add_option("--kernel", flags->kernel, "as `symtile inspect --kernels` names it")
      ->required();
  command->add_option("--device", flags->device, "opencl; without it the CPU level of --cpu");
  command->add_flag("--json", flags->json, "print one JSON object");
  flags->compile.add_to(*command, "--fact");
  command->callback([flags] { run(*flags); });
}

}  // namespace symtile::cli
