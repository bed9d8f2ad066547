// Helpers shared by the operators that move elements by position.
#include "symtile/op/index/indexing.h"

namespace symtile {

int64_t flat_offset(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
  return at;
}

int64_t resolve_index(const EvalContext& c, int64_t index, int64_t extent) {
  const int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) {
    fail(DiagId::bad_input, {},
         "operator '{}': index {} is out of bounds for a dimension of extent {}", c.call.op, index,
         extent);
  }
  return at;
}

Expr wrap_index(Expr index, const DimExpr& extent) {
  const Expr n = to_expr(extent);
  const bool may_be_negative = !is_unsigned_int(index.dtype());
  Expr i = cast(DType::i64, std::move(index));
  if (may_be_negative) i = select(i < Expr(0), i + n, i);
  return max(min(i, n - Expr(1)), Expr(0));
}

Expr unless_empty(const LowerContext& c, const Dims& extents, Expr value) {
  Expr nonempty;
  for (const DimExpr& extent : extents) {
    if (c.facts().proves_le(1, extent)) continue;
    const Expr positive = to_expr(extent) > Expr(0);
    nonempty = nonempty.defined() ? nonempty && positive : positive;
  }
  if (!nonempty.defined()) return value;
  const Expr zero = imm(value.dtype(), 0);
  return select(nonempty, std::move(value), zero);
}

Stmt loop_nest(const std::vector<Axis>& axes, bool parallel, Stmt body) {
  for (size_t d = axes.size(); d-- > 0;) {
    const LoopKind kind = d == 0 && parallel ? LoopKind::parallel : LoopKind::serial;
    body = for_loop(axes[d].name, Expr(0), to_expr(axes[d].extent), kind, std::move(body));
  }
  return body;
}

Index variables(const std::vector<Axis>& axes) {
  Index out;
  for (const Axis& axis : axes) out.push_back(var(axis.name));
  return out;
}

bool is_index_dtype(DType t) { return is_int(t); }

void require_zero(DeduceContext& c, const DimExpr& violation, const std::string& message) {
  const DimExpr v = c.facts().simplify(violation);
  if (c.facts().proves_equal(v, 0)) return;
  if (c.facts().proves_le(1, v)) c.fail(DiagId::shape_mismatch, "{}", message);
  c.checks.push_back({v, 0, "operator '" + c.op() + "': " + message});
}

}  // namespace symtile
