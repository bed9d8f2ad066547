#include "symtile/transform/tile/sorting.h"

#include "symtile/ir/expr_node.h"
#include "symtile/op/index/sort_order.h"

namespace symtile {
namespace {

/// One side of the first comparison of elements in the body of `ranks`: the one at position j.
struct Compared {
  Expr element;
  bool is_left = true;
};

std::optional<Compared> compared(const ReduceExpr& ranks) {
  std::optional<Compared> out;
  const std::string& j = ranks.axes[0].name;
  visit(ranks.body, [&](const Expr& e) {
    const auto* b = e.as<BinaryExpr>();
    if (out || !b || b->op != BinaryOp::gt) return;
    out = depends_on(b->a, j) ? Compared{b->a, true} : Compared{b->b, false};
  });
  return out;
}

}  // namespace

Expr sorted_element(const Expr& ranks, const Expr& at) {
  const auto& sum = *ranks.as<ReduceExpr>();
  return substitute(compared(sum)->element, {{sum.axes[0].name, at}});
}

std::optional<Sorting> match_sorting(const ComputeForm& form) {
  if (form.stages.size() < 2) return std::nullopt;
  const ComputeStmt &ranks = form.stages[0], &positions = form.stages[1];
  const ReduceExpr* count = reduction_over_one_axis(ranks.value, ReduceKind::sum);
  const ReduceExpr* find = reduction_over_one_axis(positions.value, ReduceKind::sum);
  if (!count || !find || !is_temporary(form, ranks.buffer)) return std::nullopt;
  if (ranks.axes.size() != positions.axes.size()) return std::nullopt;
  const auto one = compared(*count);
  if (!one) return std::nullopt;
  // Which axis: the one that puts the body together again.
  Sorting out;
  out.largest = one->is_left;
  const std::string& j = count->axes[0].name;
  bool found = false;
  for (size_t a = 0; a < ranks.axes.size() && !found; ++a) {
    const std::string& i = ranks.axes[a].name;
    const Expr mine = substitute(one->element, {{j, var(i)}});
    found = structurally_equal(
        count->body,
        cast(DType::i64, stands_before(out.largest, one->element, var(j), mine, var(i))));
    out.axis = a;
  }
  if (!found) return std::nullopt;
  out.n = ranks.axes[out.axis].extent;
  out.k = positions.axes[out.axis].extent;
  std::vector<Expr> index;
  for (const Axis& axis : positions.axes) index.push_back(var(axis.name));
  const Expr wanted = index[out.axis];
  index[out.axis] = var(find->axes[0].name);
  const Expr expected =
      select(equal(load(ranks.buffer, DType::i64, index), wanted), index[out.axis], Expr(0));
  const bool same_lines = structurally_equal(to_expr(count->axes[0].extent), to_expr(out.n)) &&
                          structurally_equal(to_expr(find->axes[0].extent), to_expr(out.n));
  if (!same_lines || !structurally_equal(find->body, expected)) return std::nullopt;
  for (size_t s = 2; s < form.stages.size(); ++s) {
    for (const Load* l : loads_of(form.stages[s].value)) {
      if (l->buffer == ranks.buffer) return std::nullopt;
    }
  }
  return out;
}

}  // namespace symtile
