// Makers for the records of elementwise operators, so that one such operator is a few lines.
#pragma once

#include <functional>

#include "symtile/op/op.h"

namespace symtile {

/// Result has the type of argument 0.
std::vector<Type> deduce_same_as_first(DeduceContext& c);
/// Float argument required; result has its type.
std::vector<Type> deduce_float_unary(DeduceContext& c);
/// Float or integer argument required; result has its type.
std::vector<Type> deduce_number_unary(DeduceContext& c);
/// Numpy broadcasting of all arguments, which share a dtype; result has that dtype.
std::vector<Type> deduce_broadcast(DeduceContext& c);
/// As deduce_broadcast, floats and integers only / integers only / bool only.
std::vector<Type> deduce_arithmetic(DeduceContext& c);
std::vector<Type> deduce_bitwise(DeduceContext& c);
std::vector<Type> deduce_logical(DeduceContext& c);
/// As deduce_broadcast, result bool.
std::vector<Type> deduce_compare(DeduceContext& c);

/// c.outputs from f applied to every element (float kind: f; int kind: g, wrapped to the dtype).
void evaluate_unary(EvalContext& c, const std::function<double(double)>& f,
                    const std::function<int64_t(int64_t)>& g = {});
/// The scalar operator of the tile IR, elementwise with numpy broadcasting.
void evaluate_unary_op(EvalContext& c, UnaryOp op);
void evaluate_binary_op(EvalContext& c, BinaryOp op);

/// The dtype in which values of `dtype` are computed: f32 for f16 and bf16, else itself.
DType compute_dtype(DType dtype);
/// Cast to compute_dtype.
Expr widen(Expr e);
/// Immediate of the dtype of `e`.
Expr imm_like(const Expr& e, double value);
/// Element of argument i at the (broadcast) index of the output, widened; an immediate when the
/// argument is a constant of one element.
Expr operand(const LowerContext& c, int i, const Index& index);

/// Lowers to value(x[i]) / value(x[i], y[i]) with broadcasting, operands widened.
void lower_unary(LowerContext& c, const std::function<Expr(Expr)>& value);
void lower_binary(LowerContext& c, const std::function<Expr(Expr, Expr)>& value);
void lower_unary_op(LowerContext& c, UnaryOp op);
void lower_binary_op(LowerContext& c, BinaryOp op);

/// Samples, static and symbolic, for unary / binary operators on `dtype`.
std::vector<OpSample> unary_samples(DType dtype, double low = -2, double high = 2,
                                    Attributes attrs = {});
std::vector<OpSample> binary_samples(DType dtype, double low = -2, double high = 2,
                                     Attributes attrs = {});
/// The same for several dtypes.
std::vector<OpSample> unary_samples_of(const std::vector<DType>& dtypes, double low = -2,
                                       double high = 2, const Attributes& attrs = {});
std::vector<OpSample> binary_samples_of(const std::vector<DType>& dtypes, double low = -2,
                                        double high = 2, const Attributes& attrs = {});
/// What an element of `dtype` may be off by, relative to the largest magnitude.
double sample_tolerance(DType dtype);
/// NaN, the infinities, both zeros and a few numbers: an f32 tensor of 8 elements.
Constant special_values();

// Conditions for DeduceContext::require_dtype.
bool is_number(DType t);  ///< float or integer, not bool
bool is_bool(DType t);
bool is_int_or_bool(DType t);
bool is_float_dtype(DType t);

}  // namespace symtile
