// The meaning of scalar operators on values: the one place where expr.h and scalar_ops.def are
// executed. The constant folder and the interpreter both call it.
//
// Integers of every width travel as int64: sign- or zero-extended, except u64 whose bit pattern
// is kept (so values above 2^63 look negative). bool is 0 or 1. Floats travel as double; an
// operator computes in double and the caller rounds to the dtype with round_to.
#pragma once

#include "symtile/ir/expr.h"

namespace symtile {

/// The value modulo 2^width, extended back; bool: x != 0.
int64_t wrap_to(DType dtype, int64_t value);
/// The nearest value of a float dtype (ties to even, one rounding).
double round_to(DType dtype, double value);

/// isnan and isinf give 1 or 0. Integer-only operators are a CHECK.
double eval_unary(UnaryOp op, double a);
int64_t eval_unary_int(UnaryOp op, DType dtype, int64_t a);
/// Comparisons and logical operators give 1 or 0. Integer-only operators are a CHECK.
double eval_binary(BinaryOp op, double a, double b);
int64_t eval_binary_int(BinaryOp op, DType dtype, int64_t a, int64_t b);
/// The six comparisons.
bool eval_compare(BinaryOp op, double a, double b);
bool eval_compare_int(BinaryOp op, DType dtype, int64_t a, int64_t b);

/// Truncates and saturates, NaN becomes 0; bool: x != 0.
int64_t cast_float_to_int(DType to, double value);
int64_t cast_int_to_int(DType to, int64_t value);
/// One rounding; `from` tells u64 from i64.
double cast_int_to_float(DType from, DType to, int64_t value);

/// A value of any dtype; `real` is used by float dtypes, `integer` by the others.
struct ScalarValue {
  DType dtype = DType::i64;
  double real = 0;
  int64_t integer = 0;
};
ScalarValue eval_cast(DType to, const ScalarValue& value);

}  // namespace symtile
