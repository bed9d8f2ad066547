#include "symtile/transform/splitting_view.h"

#include <fmt/format.h>

namespace symtile {

std::optional<SplittingView> splitting_view(const GraphFunction& f, const Binding& b) {
  const auto* reshape = std::get_if<OpCall>(&b.node);
  if (!reshape || reshape->op != "reshape") return std::nullopt;
  const Type& from = f.type(reshape->args[0]);
  const Type& to = f.type(b.result);
  if (!from.is_tensor() || !to.is_tensor() || !from.dims || !to.dims) return std::nullopt;
  SplittingView out;
  ComputeStmt stage{"y", {}, {}};
  std::set<std::string> symbols;
  for (const Dims* dims : {&*from.dims, &*to.dims}) {
    for (const DimExpr& d : *dims) {
      if (d.is_unknown()) return std::nullopt;
      d.collect_symbols(symbols);
    }
  }
  for (const DimExpr& d : *to.dims)
    stage.axes.push_back({fmt::format("_r{}", stage.axes.size()), d});
  std::vector<Expr> indices;
  size_t next = 0;
  for (const DimExpr& d : *from.dims) {
    Expr index = 0;
    DimExpr covered = 1;
    while (!f.facts.proves_equal(covered, d)) {
      if (next == stage.axes.size()) return std::nullopt;
      index = index * to_expr(stage.axes[next].extent) + var(stage.axes[next].name);
      covered *= stage.axes[next++].extent;
    }
    indices.push_back(std::move(index));
  }
  for (; next < stage.axes.size(); ++next) {
    if (!stage.axes[next].extent.is_const(1)) return std::nullopt;
  }
  stage.value = load("x", from.dtype, std::move(indices));
  out.kernel.name = "reshape";
  out.kernel.inputs = {{"x", from.dtype, *from.dims, Scope::global, {}}};
  out.kernel.outputs = {{"y", to.dtype, *to.dims, Scope::global, {}}};
  out.kernel.symbols.assign(symbols.begin(), symbols.end());
  out.kernel.facts = f.facts;
  out.kernel.body = make_stmt(std::move(stage));
  out.call.args = reshape->args;
  for (const std::string& s : symbols) out.call.dims.push_back(DimExpr::symbol(s));
  return out;
}

}  // namespace symtile
