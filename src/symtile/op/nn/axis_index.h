// Helpers of operators that work along one axis (softmax and its kin).
#pragma once

#include "symtile/op/elementwise.h"

namespace symtile {

/// The `axis` attribute as a position; deduction has checked the range.
size_t axis_position(const Attributes& attrs, int rank, int64_t fallback);
/// `index` with another position on `axis`.
Index with_axis(Index index, size_t axis, Expr position);
/// `index` or dims without the axis.
Index without_axis(Index index, size_t axis);
Dims without_axis(Dims dims, size_t axis);

/// Float argument of known or unknown rank; checks the axis; the result has its type.
std::vector<Type> deduce_along_axis(DeduceContext& c);
/// Calls f with the elements of every line along the axis; f returns the line of the result.
void evaluate_along_axis(EvalContext& c,
                         const std::function<std::vector<double>(const std::vector<double>&)>& f);
std::vector<OpSample> along_axis_samples();

/// Largest element, and sum of exp(x - largest), of every line: the stages softmax starts with.
struct SoftmaxStats {
  TensorRef largest, sum;
};
SoftmaxStats softmax_stats(LowerContext& c, size_t axis);

}  // namespace symtile
