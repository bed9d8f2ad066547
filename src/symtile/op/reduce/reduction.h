// Shared by the reductions. Attributes: `axes` (absent: all of them; empty: none, each element is
// reduced alone) and `keepdims` (default 1). Or `kept`, for axes known at run time only: a formula
// for every axis that is 1 when the axis stays and 0 when it is reduced to extent 1.
#pragma once

#include "symtile/op/elementwise.h"

namespace symtile {

/// The schema of every reduction.
std::vector<AttrSpec> reduction_attrs();
/// The type of argument 0 without the reduced axes (or with extent 1 there), with `dtype`.
Type reduced_type(DeduceContext& c, DType dtype);
/// For number inputs; the result has the dtype of the input.
std::vector<Type> deduce_reduction(DeduceContext& c);

/// Calls f(x, positions) for every output element, with the flat positions of the elements it
/// reduces, in order; f writes element `at` of `out`.
using ReduceGroup = std::function<void(RefTensor& out, int64_t at, const RefTensor& x,
                                       const std::vector<int64_t>& positions)>;
void evaluate_reduction(EvalContext& c, DType dtype, const ReduceGroup& f);
/// A reduction computed in double for every dtype; integers truncate the result.
void evaluate_real_reduction(EvalContext& c,
                             const std::function<double(const std::vector<double>&)>& f);

/// The loops of a reduction in a lowering, and the way back to an index of the argument.
class ReductionAxes {
 public:
  explicit ReductionAxes(const LowerContext& c);
  /// Fresh loop axes over the reduced dimensions.
  std::vector<Axis> loops(LowerContext& c) const;
  /// Index of the argument from an index of the result and the loop variables.
  Index argument_index(const Index& result, const Index& loops) const;
  /// reduce(kind, loops, body(element)) for one result element.
  Expr reduce_at(LowerContext& c, ReduceKind kind, const Index& result,
                 const std::function<Expr(Expr)>& body) const;
  /// Number of elements reduced together.
  DimExpr count() const;

 private:
  TensorRef x_;
  Dims kept_;  ///< empty without that attribute
  std::vector<bool> reduced_;
  bool keepdims_;
};

/// One stage: finish(reduce(kind, body(element))). Elements are widened.
void lower_reduction(LowerContext& c, ReduceKind kind, const std::function<Expr(Expr)>& body = {},
                     const std::function<Expr(Expr)>& finish = {});
/// For reductions that involve real functions: an integer is computed in f64.
Expr as_real(Expr e);

std::vector<OpSample> reduction_samples(const std::vector<DType>& dtypes, double low = -2,
                                        double high = 2);

}  // namespace symtile
