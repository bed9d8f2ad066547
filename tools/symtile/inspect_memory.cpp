// symtile inspect MODEL --memory [--dim NAME=VALUE]
#include <nlohmann/json.hpp>

#include "inspect.h"
#include "symtile/driver/memory_bound.h"
#include "symtile/driver/memory_report.h"

namespace symtile::cli {
namespace {

std::string number_text(const std::optional<int64_t>& number) {
  return number ? fmt::format("{}", *number) : "";
}

nlohmann::json number_json(const std::optional<int64_t>& number) {
  return number ? nlohmann::json(*number) : nlohmann::json(nullptr);
}

void print_table(const MemoryReport& report) {
  size_t value = 5, type = 4, placement = 9;
  for (const MemoryRow& r : report.rows) {
    value = std::max(value, r.value.size());
    type = std::max(type, r.type.size());
    placement = std::max(placement, r.placement.size());
  }
  fmt::print("{:{}}  {:{}}  {:{}}  bytes\n", "value", value, "type", type, "placement", placement);
  for (const MemoryRow& r : report.rows) {
    std::string bytes = r.bytes ? r.bytes->str() : "known at run time";
    if (r.number && !r.bytes->is_const()) bytes += fmt::format(" = {}", *r.number);
    fmt::print("{:{}}  {:{}}  {:{}}  {}\n", r.value, value, r.type, type, r.placement, placement,
               bytes);
  }
}

void print_line(const char* what, const DimExpr& formula, const std::optional<int64_t>& number) {
  fmt::print("{:14} {} bytes", what, short_formula(formula));
  if (number && !formula.is_const()) fmt::print(" = {}", number_text(number));
  fmt::print("\n");
}

}  // namespace

void inspect_memory(const Module& module, const InspectFlags& flags) {
  std::optional<DimValues> dims;
  if (!flags.dims.empty()) {
    const std::set<std::string> entry = module.graph(Module::kMain).entry_symbols();
    dims = parse_dim_values({entry.begin(), entry.end()}, flags.dims);
  }
  const MemoryReport report = memory_report(module, dims);
  if (!flags.json) {
    print_table(report);
    fmt::print("\n");
    print_line("arena", report.arena, report.arena_number);
    print_line("intermediates", report.intermediates, report.intermediates_number);
    if (report.unknown > 0)
      fmt::print("{:14} and {} whose size only a run can tell\n", "", report.unknown);
    fmt::print("{:14} {} bytes\n", "constants", report.constant_bytes);
    return;
  }
  nlohmann::json out{
      {"model", flags.file},
      {"dims", dims.value_or(DimValues{})},
      {"arena", {{"formula", report.arena.str()}, {"bytes", number_json(report.arena_number)}}},
      {"intermediates",
       {{"formula", report.intermediates.str()},
        {"bytes", number_json(report.intermediates_number)},
        {"unknown", report.unknown}}},
      {"constant_bytes", report.constant_bytes},
      {"values", nlohmann::json::array()}};
  for (const MemoryRow& r : report.rows) {
    out["values"].push_back({{"name", r.value},
                             {"type", r.type},
                             {"placement", r.placement},
                             {"formula", r.bytes ? nlohmann::json(r.bytes->str()) : nullptr},
                             {"bytes", number_json(r.number)}});
  }
  print_json_text(out);
}

}  // namespace symtile::cli
