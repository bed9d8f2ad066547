#include "symtile/transform/tile/contraction.h"

#include <algorithm>

namespace symtile {
namespace {

/// X[.., v // width, k, v % width], k the position in the space of the reduction axes.
bool reads_parts(const Expr& operand, const std::string& v, int64_t width,
                 const std::vector<Axis>& k) {
  const auto* l = operand.as<Load>();
  if (!l || l->indices.size() < 3) return false;
  const size_t last = l->indices.size() - 1;
  const auto is_part = [&](const Expr& e, BinaryOp op) {
    const auto* b = e.as<BinaryExpr>();
    const auto* name = b ? b->a.as<VarRef>() : nullptr;
    return name && b->op == op && name->name == v && b->b.is_int(width);
  };
  const auto at = to_dim_expr(l->indices[last - 1]);
  return at && *at == flat_position(k) && is_part(l->indices[last - 2], BinaryOp::floordiv) &&
         is_part(l->indices[last], BinaryOp::floormod);
}

bool is_axis_of(const std::vector<Axis>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
}

/// Position among the load's indices of the one that an axis stands in; -1 when it is in none.
int place_of(const Load& l, const std::string& axis) {
  for (size_t i = l.indices.size(); i-- > 0;) {
    if (depends_on(l.indices[i], axis)) return static_cast<int>(i);
  }
  return -1;
}

/// The only load of an operand, guards and conversions around it aside.
const Load* only_load(const Expr& operand) {
  const std::vector<const Load*> loads = loads_of(operand);
  return loads.size() == 1 ? loads.front() : nullptr;
}

/// Place of the last index that is no constant.
int last_place(const Load& l) {
  for (size_t i = l.indices.size(); i-- > 0;) {
    if (!l.indices[i].as_int()) return static_cast<int>(i);
  }
  return -1;
}

/// Where the result is stored across the columns (a transposed product): the axes along which
/// `other`, and not `inner`, is read in the order of its memory, though no axis of the result
/// follows the memory of `inner`, which has the innermost one. The columns are lanes: it matters
/// more how they are loaded, again for each row, than how they are stored, once.
std::vector<Axis> columns_across(const Expr& inner, const Expr& other, const ComputeStmt& stage) {
  const Load *l = only_load(other), *mine = only_load(inner);
  if (!l || !mine || last_place(*l) < 0) return {};
  if (place_of(*mine, stage.axes.back().name) == last_place(*mine)) return {};
  std::vector<Axis> out;
  int place = last_place(*l);
  for (size_t i = stage.axes.size(); i-- > 0;) {
    const Axis& a = stage.axes[i];
    const int at = depends_on(inner, a.name) ? -1 : place_of(*l, a.name);
    const bool follows = at >= 0 && (at == place || (!out.empty() && at == place - 1));
    if (!follows && out.empty()) continue;
    if (!follows) break;
    place = at;
    out.insert(out.begin(), a);
  }
  return out;
}

}  // namespace

DimExpr extent_of(const std::vector<Axis>& axes) {
  DimExpr out = 1;
  for (const Axis& a : axes) out *= a.extent;
  return out;
}

DimExpr flat_position(const std::vector<Axis>& axes) {
  DimExpr out = 0;
  for (const Axis& a : axes) out = out * a.extent + DimExpr::symbol(a.name);
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
  const Expr& inner = a_has ? product->a : product->b;
  const Expr& other = a_has ? product->b : product->a;
  c.cols = columns_across(inner, other, stage);
  if (!c.cols.empty()) c.col_is_left = !c.col_is_left;
  c.col_operand = c.col_is_left ? product->a : product->b;
  c.row_operand = c.col_is_left ? product->b : product->a;
  const auto axis = [&](size_t at) { return stage.axes.begin() + static_cast<std::ptrdiff_t>(at); };
  size_t i = stage.axes.size();
  if (!c.cols.empty()) {
    while (i > 0 && !depends_on(c.col_operand, stage.axes[i - 1].name)) --i;
    c.rows.assign(axis(i), stage.axes.end());
    for (size_t k = 0; k < i; ++k) {
      if (!is_axis_of(c.cols, stage.axes[k].name)) c.batch.push_back(stage.axes[k]);
    }
  } else {
    while (i > 0 && !depends_on(c.row_operand, stage.axes[i - 1].name)) --i;
    c.cols.assign(axis(i), stage.axes.end());
    // Axes of both operands may stand between rows and columns (a transposed result): batch axes.
    const size_t cols_begin = i;
    while (i > 0 && depends_on(c.col_operand, stage.axes[i - 1].name)) --i;
    const size_t rows_end = i;
    while (i > 0 && !depends_on(c.col_operand, stage.axes[i - 1].name)) --i;
    c.rows.assign(axis(i), axis(rows_end));
    c.batch.assign(axis(0), axis(i));
    c.batch.insert(c.batch.end(), axis(rows_end), axis(cols_begin));
  }
  if (c.rows.empty() || extent_of(c.rows).is_const(1)) return std::nullopt;
  c.packed = c.cols.size() == 1 && c.k.size() == 1 &&
             reads_parts(c.col_operand, c.cols.back().name, kPanel, c.k);
  c.strips = c.rows.size() == 1 && reads_parts(c.row_operand, c.rows[0].name, kStrip, c.k);
  const auto k_high = facts.upper_bound(extent_of(c.k));
  if (k_high && *k_high < 4) return std::nullopt;  // too little work for a register tile
  return c;
}

}  // namespace symtile
