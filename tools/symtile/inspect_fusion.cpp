// symtile inspect MODEL --fusion: which operator went into which kernel, and why others did not
#include <nlohmann/json.hpp>

#include "inspect.h"
#include "symtile/transform/fusion_report.h"

namespace symtile::cli {
namespace {

nlohmann::json to_json(const std::string& model, const FusionReport& report) {
  nlohmann::json out{{"model", model},
                     {"kernels", nlohmann::json::array()},
                     {"refusals", nlohmann::json::array()}};
  for (const FusedKernel& k : report.kernels) {
    nlohmann::json members = nlohmann::json::array();
    for (const FusedMember& m : k.members) {
      members.push_back(
          {{"value", m.value}, {"op", m.op}, {"kind", m.kind}, {"role", name_of(m.role)}});
    }
    out["kernels"].push_back({{"function", k.function},
                              {"kernel", k.kernel},
                              {"value", k.value},
                              {"kind", k.kind},
                              {"apart", k.apart},
                              {"members", members}});
  }
  for (const FusionRefusal& r : report.refusals) {
    out["refusals"].push_back({{"function", r.function},
                               {"producer", r.producer},
                               {"kind", r.producer_kind},
                               {"consumer", r.consumer},
                               {"reason", r.reason}});
  }
  return out;
}

}  // namespace

void inspect_fusion(const std::string& model, const FusionReport& report, bool json) {
  if (json) return print_json_text(to_json(model, report));
  size_t operators = 0;
  for (const FusedKernel& k : report.kernels) {
    operators += k.members.size();
    fmt::print("%{} = {} ({})\n", k.value, k.kernel, k.kind);
    if (k.members.size() == 1) continue;
    for (const FusedMember& m : k.members)
      fmt::print("    {:8} {:16} %{}\n", name_of(m.role), m.op, m.value);
  }
  if (!report.refusals.empty()) fmt::print("\nkept apart\n");
  for (const FusionRefusal& r : report.refusals) {
    fmt::print("    %{} ({}) and its reader %{}: {}\n", r.producer, r.producer_kind, r.consumer,
               r.reason);
  }
  fmt::print("\n{} operators in {} kernels, {} pairs kept apart\n", operators,
             report.kernels.size(), report.refusals.size());
}

}  // namespace symtile::cli
