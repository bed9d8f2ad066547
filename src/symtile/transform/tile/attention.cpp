#include "symtile/transform/tile/attention.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "symtile/transform/tile/contraction.h"

namespace symtile {
namespace {

bool mentions(const Expr& e, const std::string& buffer) {
  const std::vector<const Load*> all = loads_of(e);
  return std::any_of(all.begin(), all.end(), [&](const Load* l) { return l->buffer == buffer; });
}

/// exp(scores - largest)
bool is_weight(const Expr& e, const ComputeForm& form) {
  const auto* u = e.as<UnaryExpr>();
  const auto* d = u && u->op == UnaryOp::exp ? u->a.as<BinaryExpr>() : nullptr;
  return d && d->op == BinaryOp::sub && is_load_of(d->a, form.stages[0].buffer) &&
         is_load_of(d->b, form.stages[1].buffer);
}

/// `select(key <= row + offset, x, other)`: offset and x.
struct Visible {
  Expr offset, then_value, else_value;
};
std::optional<Visible> visible_part(const Expr& e, const std::string& key,
                                    const std::optional<Axis>& row) {
  const auto* s = e.as<SelectExpr>();
  const auto* c = s ? s->condition.as<BinaryExpr>() : nullptr;
  if (!c || c->op != BinaryOp::le) return std::nullopt;
  const auto left = to_dim_expr(c->a), right = to_dim_expr(c->b);
  if (!left || !right || *left != DimExpr::symbol(key)) return std::nullopt;
  const DimExpr offset = row ? *right - DimExpr::symbol(row->name) : *right;
  const std::set<std::string> used = offset.symbols();
  if (used.count(key) || (row && used.count(row->name))) return std::nullopt;
  return Visible{to_expr(offset), s->then_value, s->else_value};
}

bool is_immediate(const Expr& e, double value) {
  const auto* f = e.as<FloatImm>();
  return f && f->value == value;
}

/// For each of the first `p` axes of `stage`, the position in `out` of the axis that `load`, of the
/// stage's buffer, puts there: fusion may have permuted the axes of the last stage. The load has an
/// index a dimension, or a single flat one.
std::optional<std::vector<size_t>> axis_order(const Load& load, const ComputeStmt& stage, size_t p,
                                              const ComputeStmt& out) {
  std::vector<size_t> order(p);
  const auto position = [&](const std::function<bool(const Axis&)>& fits) {
    const auto it = std::find_if(out.axes.begin(), out.axes.end(), fits);
    return static_cast<size_t>(it - out.axes.begin());
  };
  std::vector<std::string> names;
  for (const Expr& i : load.indices) {
    if (const auto* v = i.as<VarRef>()) names.push_back(v->name);
  }
  if (names.size() == stage.axes.size()) {
    for (size_t i = 0; i < p; ++i)
      order[i] = position([&](const Axis& a) { return a.name == names[i]; });
  } else {
    const auto index = load.indices.size() == 1 ? to_dim_expr(load.indices[0]) : std::nullopt;
    if (!index) return std::nullopt;
    DimExpr stride = 1;
    for (size_t i = stage.axes.size(); i-- > 0; stride *= stage.axes[i].extent) {
      if (i >= p) continue;
      order[i] = position([&](const Axis& a) {
        return index->substitute({{a.name, 1}}) - index->substitute({{a.name, 0}}) == stride;
      });
    }
  }
  std::set<size_t> distinct(order.begin(), order.end());
  if (distinct.size() != p || distinct.count(out.axes.size())) return std::nullopt;
  return order;
}

}  // namespace

std::optional<Attention> match_attention(const ComputeForm& form) {
  if (form.stages.size() != 4 || form.temporaries.size() != 3) return std::nullopt;
  const ComputeStmt &scores = form.stages[0], &largest = form.stages[1], &total = form.stages[2],
                    &out = form.stages[3];
  const size_t p = largest.axes.size();
  const auto has = [&](const ComputeStmt& stage, size_t more) {
    return stage.axes.size() == p || stage.axes.size() == p + more;
  };
  if (!has(scores, 1) || !has(total, 0) || !has(out, 1)) return std::nullopt;
  for (const Axis& axis : scores.axes) {
    if (axis.extent.is_const(0)) return std::nullopt;  // nothing to do; flat indices say nothing
  }
  const ReduceExpr* best = reduction_over_one_axis(largest.value, ReduceKind::max);
  const ReduceExpr* sum = reduction_over_one_axis(total.value, ReduceKind::sum);
  if (!best || !is_load_of(best->body, scores.buffer) || !sum || !is_weight(sum->body, form))
    return std::nullopt;

  Attention a;
  a.result = out.value;
  a.weighted = only_reduction(out.value);
  const ReduceExpr* weighted =
      a.weighted.defined() ? reduction_over_one_axis(a.weighted, ReduceKind::sum) : nullptr;
  const auto* product = weighted ? weighted->body.as<BinaryExpr>() : nullptr;
  const auto* share =
      product && product->op == BinaryOp::mul ? product->a.as<BinaryExpr>() : nullptr;
  if (!share || share->op != BinaryOp::div || !is_weight(share->a, form) ||
      !is_load_of(share->b, total.buffer))
    return std::nullopt;
  a.value = product->b;
  a.result = rewrite(a.result, [&](const Expr& e) {
    const auto* s = e.as<SelectExpr>();
    if (!s || !is_immediate(s->then_value, 0)) return e;
    const auto* nan = s->condition.as<UnaryExpr>();
    const auto* same = s->condition.as<BinaryExpr>();
    if (nan && nan->op == UnaryOp::isnan && is_load_of(nan->a, total.buffer)) {
      a.zero = Attention::Zero::without_sum;
    } else if (same && same->op == BinaryOp::eq && is_load_of(same->a, largest.buffer) &&
               is_immediate(same->b, -std::numeric_limits<double>::infinity())) {
      a.zero = Attention::Zero::without_keys;
    } else {
      return e;
    }
    return s->else_value;
  });
  // Everything in the variables of the last stage.
  std::map<std::string, Expr> rename;
  const auto& weight = *share->a.as<UnaryExpr>()->a.as<BinaryExpr>();
  const auto order = axis_order(*weight.a.as<Load>(), scores, p, out);
  if (!order) return std::nullopt;
  for (size_t i = 0; i < p; ++i) rename[scores.axes[i].name] = var(out.axes[(*order)[i]].name);
  const bool has_key = scores.axes.size() > p;
  a.key = {weighted->axes[0].name, weighted->axes[0].extent};
  if (has_key) rename[scores.axes[p].name] = var(a.key.name);
  a.score = substitute(scores.value, rename);
  a.product = only_reduction(a.score);
  const ReduceExpr* dot =
      a.product.defined() ? reduction_over_one_axis(a.product, ReduceKind::sum) : nullptr;
  const auto* pair = dot ? dot->body.as<BinaryExpr>() : nullptr;
  if (!pair || pair->op != BinaryOp::mul) return std::nullopt;
  a.depth = dot->axes[0];
  const bool swapped = has_key && depends_on(pair->a, a.key.name);
  a.query = swapped ? pair->b : pair->a;
  a.key_operand = swapped ? pair->a : pair->b;
  if (depends_on(a.query, a.key.name) || loads_of(a.query).empty() ||
      loads_of(a.key_operand).empty())
    return std::nullopt;
  const Expr around = rewrite(a.result, [&](const Expr& e) {
    return structurally_equal(e, a.weighted) ? imm(e.dtype(), 0) : e;
  });
  for (const std::string& t : {scores.buffer, largest.buffer, total.buffer}) {
    if (mentions(a.value, t) || mentions(around, t)) return std::nullopt;
  }
  for (size_t i = 0; i < out.axes.size(); ++i) {
    if (std::find(order->begin(), order->end(), i) == order->end()) a.column = out.axes[i];
  }
  if (a.column && (depends_on(a.score, a.column->name))) return std::nullopt;
  for (size_t i = 0; i < p; ++i) {
    const Axis& axis = out.axes[(*order)[i]];
    const Expr value = a.value;
    // In the causal form the value depends on the row through the choice alone.
    const auto chosen = visible_part(value, a.key.name, axis);
    const bool free = !depends_on(a.key_operand, axis.name) &&
                      !depends_on(chosen ? chosen->then_value : value, axis.name);
    if (free && !a.row) {
      a.row = axis;
    } else {
      a.batch.push_back(axis);
    }
  }
  const auto by_value = visible_part(a.value, a.key.name, a.row);
  const auto by_score = visible_part(a.score, a.key.name, a.row);
  if (by_value && by_score && structurally_equal(by_value->offset, by_score->offset) &&
      is_immediate(by_value->else_value, 0) && is_immediate(by_score->else_value, -INFINITY)) {
    a.causal = by_value->offset;
    a.value = by_value->then_value;
  }
  for (const auto* e : {&a.key_operand, &a.value}) {
    if (a.row && depends_on(*e, a.row->name)) return std::nullopt;
  }
  return a;
}

}  // namespace symtile
