// symtile inspect ARTIFACT
#include <cstring>
#include <nlohmann/json.hpp>

#include "inspect.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/driver/memory_bound.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/format/print_program.h"

namespace symtile::cli {
namespace {

/// An artifact in memory, checked.
struct Artifact {
  std::string bytes;
  format::ArtifactView view;
  std::vector<format::SectionRecord> sections;
};

std::string_view name_of(format::SectionKind kind) {
  constexpr std::string_view names[] = {"manifest", "program",     "constants",  "code info",
                                        "code",     "device info", "device code"};
  return names[static_cast<uint32_t>(kind) - 1];
}

std::shared_ptr<const Artifact> read(const std::string& file) {
  auto out = std::make_shared<Artifact>();
  out->bytes = read_whole_file(file);
  out->view = format::read_artifact(std::as_bytes(std::span(out->bytes)), file);
  format::FileHeader header;
  std::memcpy(&header, out->bytes.data(), sizeof header);
  out->sections.resize(header.sections);
  std::memcpy(out->sections.data(), out->bytes.data() + sizeof header,
              header.sections * sizeof(format::SectionRecord));
  return out;
}

std::string dims_text(const format::EntryValue& v) {
  if (!v.known_rank) return "*";
  std::vector<std::string> dims;
  for (const format::EntryDim& d : v.dims) dims.push_back(d.text);
  return fmt::format("({})", fmt::join(dims, ", "));
}

std::string arena_text(const format::Program& p) {
  return p.arena_bytes.valid() ? p.formulas.at(p.arena_bytes.value).text : "0";
}

/// At the dimensions of --dim; none without them.
std::optional<int64_t> arena_number(const InspectFlags& flags, const format::Program& program) {
  if (flags.dims.empty()) return std::nullopt;
  const DimValues values = parse_dim_values(program.symbols, flags.dims);
  return api::Model(flags.file).arena_bytes({values.begin(), values.end()});
}

nlohmann::json values_json(const std::vector<format::EntryValue>& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const format::EntryValue& v : values) {
    nlohmann::json dims = nullptr;
    if (v.known_rank) {
      dims = nlohmann::json::array();
      for (const format::EntryDim& d : v.dims) dims.push_back(d.text);
    }
    out.push_back({{"name", v.name}, {"dtype", symtile::name_of(v.dtype)}, {"dims", dims}});
  }
  return out;
}

nlohmann::json to_json(const InspectFlags& flags, const Artifact& a) {
  const format::Program& p = a.view.program;
  nlohmann::json out{{"artifact", flags.file},
                     {"bytes", a.bytes.size()},
                     {"inputs", values_json(p.inputs)},
                     {"outputs", values_json(p.outputs)},
                     {"symbols", p.symbols},
                     {"facts", p.facts},
                     {"manifest", nlohmann::json::object()},
                     {"arena", {{"formula", arena_text(p)}, {"bytes", nullptr}}},
                     {"constant_bytes", a.view.constants.size()},
                     {"library_calls", p.builtins},
                     {"sections", nlohmann::json::array()},
                     {"levels", nlohmann::json::array()},
                     {"devices", nlohmann::json::array()},
                     {"kernels", nlohmann::json::array()}};
  for (const auto& [key, value] : a.view.manifest.entries) out["manifest"][key] = value;
  if (const auto number = arena_number(flags, p)) out["arena"]["bytes"] = *number;
  for (const format::SectionRecord& s : a.sections) {
    out["sections"].push_back(
        {{"kind", name_of(s.kind)}, {"offset", s.offset}, {"bytes", s.bytes}});
  }
  for (const auto& code : a.view.code) {
    out["levels"].push_back({{"level", code.info.level}, {"code_bytes", code.object.size()}});
  }
  for (const auto& device : a.view.devices) {
    out["devices"].push_back(
        {{"device", device.info.device}, {"source_bytes", device.text.size()}});
  }
  for (size_t i = 0; i < p.kernels.size(); ++i) {
    nlohmann::json kernel{{"name", p.kernels[i].name}};
    if (!a.view.code.empty()) {
      kernel["parallel"] = a.view.code.front().info.kernels[i].parallel_extent.text;
      kernel["scratch_bytes"] = a.view.code.front().info.kernels[i].scratch_bytes.text;
      kernel["work"] = a.view.code.front().info.kernels[i].work.text;
    }
    out["kernels"].push_back(std::move(kernel));
  }
  return out;
}

void print_kernels(const Artifact& a) {
  const format::Program& p = a.view.program;
  for (size_t i = 0; i < p.kernels.size(); ++i) {
    fmt::print("  {}", p.kernels[i].name);
    if (!a.view.code.empty()) {
      fmt::print("  over {}", a.view.code.front().info.kernels[i].parallel_extent.text);
    }
    fmt::print("\n");
  }
}

void print_memory(const InspectFlags& flags, const Artifact& a) {
  fmt::print("arena      {} bytes", short_formula(parse_dim_expr(arena_text(a.view.program))));
  if (const auto number = arena_number(flags, a.view.program)) fmt::print(" = {}", *number);
  fmt::print("\nconstants  {} bytes\n", a.view.constants.size());
}

void print_text(const InspectFlags& flags, const Artifact& a) {
  const format::Program& p = a.view.program;
  fmt::print("{}: {} bytes\n", flags.file, a.bytes.size());
  for (const auto& [key, value] : a.view.manifest.entries) fmt::print("  {:14} {}\n", key, value);
  for (const auto& [what, values] : {std::pair{"input", &p.inputs}, {"output", &p.outputs}}) {
    for (const format::EntryValue& v : *values) {
      fmt::print("{:7} {} {} {}\n", what, v.name, symtile::name_of(v.dtype), dims_text(v));
    }
  }
  for (const std::string& fact : p.facts) fmt::print("fact    {}\n", fact);
  for (const format::SectionRecord& s : a.sections) {
    fmt::print("section {:10} {:12} bytes at {}\n", name_of(s.kind), s.bytes, s.offset);
  }
  for (const auto& code : a.view.code) {
    fmt::print("level   {:10} {:12} bytes of code\n", code.info.level, code.object.size());
  }
  for (const auto& device : a.view.devices) {
    size_t launches = 0;
    for (const format::DeviceKernel& k : device.info.kernels) launches += k.launches.size();
    fmt::print("device  {:10} {:12} bytes of source, {} launches\n", device.info.device,
               device.text.size(), launches);
  }
  if (!p.builtins.empty()) fmt::print("library {}\n", fmt::join(p.builtins, ", "));
  fmt::print("kernels {}\n", p.kernels.size());
  print_kernels(a);
  print_memory(flags, a);
}

}  // namespace

void inspect_artifact(const InspectFlags& flags) {
  if (!flags.after.empty() || !flags.kernel.empty() || flags.fusion) {
    fail(DiagId::bad_input, {},
         "'{}' is an artifact, which holds no IR; use --after, --kernel and --fusion on the model "
         "that it was compiled from",
         flags.file);
  }
  const std::shared_ptr<const Artifact> artifact = read(flags.file);
  if (flags.program) {
    const std::string text = format::to_text(artifact->view.program);
    if (flags.json) return print_json_text({{"artifact", flags.file}, {"program", text}});
    fmt::print("{}", text);
  } else if (flags.json) {
    print_json_text(to_json(flags, *artifact));
  } else if (flags.memory) {
    print_memory(flags, *artifact);
  } else if (flags.kernels) {
    print_kernels(*artifact);
  } else {
    print_text(flags, *artifact);
  }
}

}  // namespace symtile::cli
