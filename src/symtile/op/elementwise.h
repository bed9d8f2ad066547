// Makers for the records of elementwise operators, so that one such operator is a few lines.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

/// Result has the type of argument 0.
std::vector<Type> deduce_same_as_first(DeduceContext& c);
/// Float argument required; result has its type.
std::vector<Type> deduce_float_unary(DeduceContext& c);
/// Numpy broadcasting of all arguments, which share a dtype; result has that dtype.
std::vector<Type> deduce_broadcast(DeduceContext& c);
/// As deduce_broadcast, result bool.
std::vector<Type> deduce_compare(DeduceContext& c);

/// c.outputs from f applied to every element (float kind: f; int kind: g wrapped to the dtype).
void evaluate_unary(EvalContext& c, double (*f)(double), int64_t (*g)(int64_t) = nullptr);
/// The scalar operator of the tile IR, elementwise with numpy broadcasting.
void evaluate_unary_op(EvalContext& c, UnaryOp op);
void evaluate_binary_op(EvalContext& c, BinaryOp op);

/// Lowers to value(x[i]) / value(x[i], y[i]) with broadcasting.
void lower_unary(LowerContext& c, Expr (*value)(Expr));
void lower_binary(LowerContext& c, Expr (*value)(Expr, Expr));

/// Two samples, one static and one symbolic, for unary / binary operators on `dtype`.
std::vector<OpSample> unary_samples(DType dtype, double low = -2, double high = 2);
std::vector<OpSample> binary_samples(DType dtype, double low = -2, double high = 2);

}  // namespace symtile
