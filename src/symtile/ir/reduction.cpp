#include "symtile/ir/reduction.h"

#include <limits>

#include "symtile/base/check.h"

namespace symtile {
namespace {

double lowest(DType t) {
  if (is_float(t)) return -std::numeric_limits<double>::infinity();
  return 0;
}

/// Extreme values of integers, exactly (a double cannot hold all of them).
Expr extreme(DType t, bool highest) {
  if (is_float(t)) return imm(t, highest ? -lowest(t) : lowest(t));
  if (t == DType::boolean) return bool_imm(highest);
  const int bits = static_cast<int>(size_of(t)) * 8;
  if (is_unsigned_int(t))
    return int_imm(t, highest ? (bits == 64 ? -1 : (int64_t{1} << bits) - 1) : 0);
  const int64_t top =
      bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
  return int_imm(t, highest ? top : -top - 1);
}

}  // namespace

bool is_arg_reduction(ReduceKind kind) { return kind >= ReduceKind::argmax; }

BinaryOp combining_operator(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return BinaryOp::add;
    case ReduceKind::prod:
      return BinaryOp::mul;
    case ReduceKind::max:
      return BinaryOp::max;
    case ReduceKind::min:
      return BinaryOp::min;
    case ReduceKind::any:
      return BinaryOp::logical_or;
    case ReduceKind::all:
      return BinaryOp::logical_and;
    default:
      SYMTILE_UNREACHABLE("'{}' combines nothing", name_of(kind));
  }
}

Expr identity_of(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::sum:
      return imm(dtype, 0);
    case ReduceKind::prod:
      return imm(dtype, 1);
    case ReduceKind::any:
      return bool_imm(false);
    case ReduceKind::all:
      return bool_imm(true);
    case ReduceKind::max:
    case ReduceKind::argmax:
    case ReduceKind::argmax_last:
      return extreme(dtype, false);
    case ReduceKind::min:
    case ReduceKind::argmin:
    case ReduceKind::argmin_last:
      return extreme(dtype, true);
  }
  SYMTILE_UNREACHABLE();
}

}  // namespace symtile
