// Resampling along axes: what the attributes of `resize` say, and the fractions behind scales.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

struct Fraction {
  int64_t num = 1, den = 1;
};

/// The simplest fraction that rounds to the f32 value `scale` (3/5 for 0.6f), or its exact value.
/// A bad_attribute diagnostic unless 2^-30 <= scale <= 2^30.
Fraction fraction_from_scale(double scale);

/// floor(extent * scale): the extent after resampling by a constant scale.
DimExpr scaled_extent(const DimExpr& extent, double scale);

struct ResizeSpec {
  std::string mode;             ///< nearest, linear, cubic
  std::string coordinate_mode;  ///< as ONNX coordinate_transformation_mode
  /// As ONNX, or "simple": floor when enlarging and ceil when shrinking (Resize before opset 11).
  std::string nearest_mode;
  double cubic_a, extrapolation;
  bool exclude_outside, antialias;
  std::vector<double> scales;  ///< empty: result extent / input extent

  explicit ResizeSpec(const Attributes& attrs);
  bool is_crop() const { return coordinate_mode == "tf_crop_and_resize"; }
};

/// Index argument positions of the operator.
inline constexpr int kResizeRoi = 1, kResizeScales = 2;

void lower_resize(LowerContext& c);

}  // namespace symtile
