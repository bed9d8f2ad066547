#include "symtile/transform/tile/contraction.h"

#include <algorithm>

namespace symtile {
namespace {

/// B[.., n // kPanel, k, n % kPanel], one reduction axis.
bool reads_panels(const Expr& operand, const std::string& n, const std::vector<Axis>& k) {
  const auto* l = operand.as<Load>();
  if (!l || l->indices.size() < 3 || k.size() != 1) return false;
  const size_t last = l->indices.size() - 1;
  const auto* kv = l->indices[last - 1].as<VarRef>();
  const auto* hi = l->indices[last - 2].as<BinaryExpr>();
  const auto* lo = l->indices[last].as<BinaryExpr>();
  const auto is_n = [&](const Expr& e) {
    const auto* v = e.as<VarRef>();
    return v && v->name == n;
  };
  return kv && kv->name == k[0].name && hi && hi->op == BinaryOp::floordiv && is_n(hi->a) &&
         hi->b.is_int(kPanel) && lo && lo->op == BinaryOp::floormod && is_n(lo->a) &&
         lo->b.is_int(kPanel);
}

}  // namespace

DimExpr extent_of(const std::vector<Axis>& axes) {
  DimExpr out = 1;
  for (const Axis& a : axes) out *= a.extent;
  return out;
}

std::optional<Contraction> match_contraction(const ComputeForm& form, const Facts& facts) {
  if (form.stages.size() != 1 || !form.temporaries.empty()) return std::nullopt;
  const ComputeStmt& stage = form.stages.front();
  Contraction c;
  c.sum = only_reduction(stage.value);
  if (!c.sum.defined() || stage.axes.empty()) return std::nullopt;
  const auto& reduce = *c.sum.as<ReduceExpr>();
  const auto* product = reduce.body.as<BinaryExpr>();
  if (reduce.kind != ReduceKind::sum || !product || product->op != BinaryOp::mul)
    return std::nullopt;
  if (loads_of(product->a).empty() || loads_of(product->b).empty()) return std::nullopt;
  c.k = reduce.axes;
  const std::string& innermost = stage.axes.back().name;
  const bool a_has = depends_on(product->a, innermost), b_has = depends_on(product->b, innermost);
  if (a_has == b_has) return std::nullopt;
  c.col_is_left = a_has;
  c.col_operand = a_has ? product->a : product->b;
  c.row_operand = a_has ? product->b : product->a;
  size_t i = stage.axes.size();
  while (i > 0 && !depends_on(c.row_operand, stage.axes[i - 1].name)) --i;
  c.cols.assign(stage.axes.begin() + static_cast<std::ptrdiff_t>(i), stage.axes.end());
  // Axes of both operands may stand between rows and columns (a transposed result): batch axes.
  const size_t cols_begin = i;
  while (i > 0 && depends_on(c.col_operand, stage.axes[i - 1].name)) --i;
  const size_t rows_end = i;
  while (i > 0 && !depends_on(c.col_operand, stage.axes[i - 1].name)) --i;
  const auto axis = [&](size_t at) { return stage.axes.begin() + static_cast<std::ptrdiff_t>(at); };
  c.rows.assign(axis(i), axis(rows_end));
  if (c.rows.empty() || extent_of(c.rows).is_const(1)) return std::nullopt;
  c.batch.assign(axis(0), axis(i));
  c.batch.insert(c.batch.end(), axis(rows_end), axis(cols_begin));
  c.packed = c.cols.size() == 1 && reads_panels(c.col_operand, innermost, c.k);
  const auto k_high = facts.upper_bound(extent_of(c.k));
  if (k_high && *k_high < 4) return std::nullopt;  // too little work for a register tile
  return c;
}

}  // namespace symtile
