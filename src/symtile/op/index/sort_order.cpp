#include "symtile/op/index/sort_order.h"

namespace symtile {

Expr sorts_above(const Expr& a, const Expr& b) {
  if (!is_float(a.dtype())) return a > b;
  return a > b || (unary(UnaryOp::isnan, a) && !unary(UnaryOp::isnan, b));
}

Expr stands_before(bool largest, const Expr& a, const Expr& i, const Expr& b, const Expr& j) {
  const Expr first = largest ? sorts_above(a, b) : sorts_above(b, a);
  const Expr second = largest ? sorts_above(b, a) : sorts_above(a, b);
  return first || (!second && i < j);
}

}  // namespace symtile
