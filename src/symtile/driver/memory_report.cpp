#include "symtile/driver/memory_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace symtile {
namespace {

/// Views, casts and bindings of names cost no memory.
bool computes(const GraphFunction& f, const Binding& b) {
  const bool aliased = f.value(b.result).placement.kind == Placement::Kind::alias;
  if (std::holds_alternative<OpCall>(b.node)) return !aliased;
  return std::holds_alternative<TileCall>(b.node) || std::holds_alternative<ExternCall>(b.node) ||
         std::holds_alternative<GraphCall>(b.node) || std::holds_alternative<If>(b.node) ||
         std::holds_alternative<Loop>(b.node) || std::holds_alternative<GetItem>(b.node) ||
         std::holds_alternative<DimsToTensor>(b.node);
}

std::string placement_text(const GraphFunction& f, const Binding& b) {
  const Placement& p = f.value(b.result).placement;
  switch (p.kind) {
    case Placement::Kind::arena:
      return "arena at " + p.offset.str();
    case Placement::Kind::alias:
      return (computes(f, b) ? "in place of " : "view of ") + f.value(p.of).name;
    case Placement::Kind::constant:
      return "constant";
    case Placement::Kind::parameter:
      return "input";
    default:
      return "heap";
  }
}

std::optional<DimExpr> bytes_of(const Type& type) {
  if (!type.is_tensor() || !type.fully_known()) return std::nullopt;
  return product(*type.dims) * size_of(type.dtype);
}

/// The value, when it is one or the given dimensions determine it.
std::optional<int64_t> number_of(const DimExpr& e, const std::optional<DimValues>& dims) {
  if (!dims) return e.as_const();
  const std::set<std::string> symbols = e.symbols();
  const bool known = std::all_of(symbols.begin(), symbols.end(),
                                 [&](const std::string& s) { return dims->count(s) > 0; });
  return known ? std::optional(e.evaluate(*dims)) : std::nullopt;
}

}  // namespace

MemoryReport memory_report(const Module& module, const std::optional<DimValues>& dims) {
  const GraphFunction& main = module.graph(Module::kMain);
  MemoryReport out;
  if (main.arena_bytes) out.arena = *main.arena_bytes;
  for (const std::string& name : module.graph_names()) {
    for (const Binding& b : module.graph(name).bindings) {
      if (const auto* c = std::get_if<ConstantNode>(&b.node)) {
        out.constant_bytes += static_cast<int64_t>(c->data->bytes.size());
      }
    }
  }
  for (const Binding& b : main.bindings) {
    const Value& value = main.value(b.result);
    if (!value.type.is_tensor() || std::holds_alternative<ConstantNode>(b.node)) continue;
    MemoryRow row{value.name, value.type.str(), placement_text(main, b), bytes_of(value.type), {}};
    if (row.bytes) row.number = number_of(*row.bytes, dims);
    if (computes(main, b)) {
      if (row.bytes) {
        out.intermediates += *row.bytes;
      } else {
        ++out.unknown;
      }
    }
    out.rows.push_back(std::move(row));
  }
  out.arena_number = number_of(out.arena, dims);
  out.intermediates_number = number_of(out.intermediates, dims);
  return out;
}

}  // namespace symtile
