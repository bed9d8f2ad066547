#include "symtile/diag/diagnostic.h"

#include <array>

namespace symtile {
namespace {

struct Entry {
  DiagId id;
  std::string_view name;
  std::string_view summary;
};

constexpr auto kEntries = std::to_array<Entry>({
#define DIAGNOSTIC(id, summary) {DiagId::id, #id, summary},
#include "symtile/diag/diagnostics.def"
#undef DIAGNOSTIC
});

std::string render(DiagId id, const Location& location, const std::string& message) {
  const std::string where = describe(location);
  if (where.empty()) return fmt::format("error[{}]: {}", name_of(id), message);
  return fmt::format("error[{}]: {}: {}", name_of(id), where, message);
}

}  // namespace

std::string describe(const Location& location) {
  if (!location) return {};
  std::string out;
  if (!location->node.empty() || !location->op.empty()) {
    out = location->node.empty() ? "node" : fmt::format("node '{}'", location->node);
    if (!location->op.empty()) out += fmt::format(" ({})", location->op);
  }
  if (location->line > 0) out += fmt::format("{}line {}", out.empty() ? "" : " ", location->line);
  if (!location->file.empty()) {
    out += out.empty() ? location->file
                       : fmt::format(" {} {}", location->line ? "of" : "in", location->file);
  }
  return out;
}

std::string_view name_of(DiagId id) { return kEntries[static_cast<size_t>(id)].name; }
std::string_view summary_of(DiagId id) { return kEntries[static_cast<size_t>(id)].summary; }

const std::vector<DiagId>& all_diagnostics() {
  static const std::vector<DiagId> ids = [] {
    std::vector<DiagId> out;
    for (const Entry& e : kEntries) out.push_back(e.id);
    return out;
  }();
  return ids;
}

DiagnosticError::DiagnosticError(DiagId id, Location location, const std::string& message)
    : UserError(render(id, location, message)), id_(id), location_(std::move(location)) {}

}  // namespace symtile
