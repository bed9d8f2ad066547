// Shared by the normalisations: mean and inverse standard deviation over groups of axes.
#pragma once

#include "symtile/op/elementwise.h"

namespace symtile {

/// Mean and 1 / sqrt(variance + epsilon) over the loop axes `axes()`, for every index of `dims`;
/// `element` reads the argument (widened) at an index of `dims` and the loop variables.
struct MomentTensors {
  TensorRef mean, inverse;
};
MomentTensors lower_moments(LowerContext& c, DType dtype, const Dims& dims, const Dims& reduced,
                            double epsilon,
                            const std::function<Expr(const Index&, const Index&)>& element);

/// The reference of the same on a list of values.
struct Moments {
  double mean, inverse;
};
Moments moments_of(const std::vector<double>& values, double epsilon);

/// Dims from axis 2 on, which batch, instance and group normalisation reduce.
Dims spatial_dims(const Dims& dims);

/// Requires arguments [first, num_args) to be vectors of `extent` elements.
void require_channel_vectors(DeduceContext& c, int first, const DimExpr& extent);

}  // namespace symtile
