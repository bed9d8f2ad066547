#include "symtile/schedule/work.h"

#include "symtile/schedule/cpu/linear.h"
#include "symtile/transform/tile/results.h"

namespace symtile {
namespace {

DimExpr expr_work(const Expr& e) {
  if (const auto* u = e.as<UnaryExpr>()) {
    const bool transcendental = u->op >= UnaryOp::exp && u->op <= UnaryOp::sigmoid;
    return expr_work(u->a) + (transcendental ? 16 : 1);
  }
  if (const auto* b = e.as<BinaryExpr>()) {
    // Index arithmetic folds into addresses.
    if (b->dtype == DType::i64) return 0;
    return expr_work(b->a) + expr_work(b->b) + (b->op == BinaryOp::pow ? 32 : 1);
  }
  if (const auto* s = e.as<SelectExpr>())
    return expr_work(s->then_value) + expr_work(s->else_value) + 1;
  if (const auto* c = e.as<CastExpr>()) return expr_work(c->a) + 1;
  if (const auto* r = e.as<ReduceExpr>()) return extent_of(r->axes) * (expr_work(r->body) + 1);
  return 1;
}

}  // namespace

DimExpr estimated_work(const TileFunction& f) {
  const auto form = compute_form(join_results(f).value_or(f));
  if (!form) return 0;
  // A contraction's multiply-adds run several at a time, whatever their operands cost to pack.
  if (const auto c = match_contraction(squeeze_unit_axes(*form), f.facts))
    return extent_of(form->stages.front().axes) * (extent_of(c->k) + 1);
  DimExpr work = 0;
  for (const ComputeStmt& stage : form->stages)
    work += extent_of(stage.axes) * expr_work(stage.value);
  return work;
}

}  // namespace symtile
