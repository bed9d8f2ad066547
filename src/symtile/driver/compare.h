// Whether two tensors agree: what `conform` and `verify` mean by "right".
#pragma once

#include <string>

#include "symtile/ir/constant.h"

namespace symtile {

/// |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-5;
};

/// That of the element type: 1e-3 and 1e-5, a few units in the last place for 16-bit floats, and
/// nothing at all for integers and bools.
Tolerance tolerance_of(DType dtype);

/// As tolerance_of; an f32 element that is left over from cancellation may be off by a few units in
/// the last place of the greatest element.
Tolerance scaled_tolerance(const ConstantData& expected);

struct Comparison {
  std::string mismatch;  ///< empty: they agree; else dtype, shape, or the worst element
  double max_error = 0;  ///< the greatest absolute difference of finite elements
  bool agree() const { return mismatch.empty(); }
};

/// Dtype and shape must be equal; NaN equals NaN and each infinity itself.
Comparison compare(const ConstantData& actual, const ConstantData& expected,
                   const Tolerance& tolerance);

}  // namespace symtile
