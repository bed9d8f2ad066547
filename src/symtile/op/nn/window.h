// Sliding windows over the trailing axes of an (n, c, spatial...) tensor, as convolution and
// pooling use them: output extents as formulas, and the guards of the padded border.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

struct Window {
  std::vector<int64_t> strides, dilations;
  Dims kernel;      ///< extent of the window on each spatial axis
  Dims begin, end;  ///< padding before and after
  bool ceil_mode = false;

  int spatial() const { return static_cast<int>(kernel.size()); }
  /// Distance from the first to one past the last tap.
  DimExpr reach(int axis) const;
  /// Number of windows on an axis of extent `in`. With ceil_mode a last window may be cut off at
  /// the end, but not one that would start in the padding after the input.
  DimExpr extent(int axis, const DimExpr& in) const;
  /// First tap of window `o`, which may be negative: o * stride - begin.
  Expr start(int axis, const Expr& o) const;
  /// Tap `t` of window `o`.
  Expr position(int axis, const Expr& o, const Expr& t) const;
  /// Condition that `position` lies within [0, in); undefined where that is proved.
  Expr guard(int axis, const Expr& position, const DimExpr& in, const Facts& facts) const;
};

/// Window of an operator with attributes strides, dilations, pads (Dims: all begins, then all
/// ends) and ceil_mode, each optional.
Window window_from(const Attributes& attrs, Dims kernel);
/// The attributes of every windowed operator, and `more`.
std::vector<AttrSpec> window_attrs(std::vector<AttrSpec> more);
/// Checks the lengths of the attributes and that strides and dilations are positive.
void check_window(DeduceContext& c, int spatial);
/// Output extents of all spatial axes (`in` has two leading axes). A window larger than its
/// padded input is a diagnostic, or a run-time check when that depends on symbols.
Dims window_extents(DeduceContext& c, const Window& w, const Dims& in);

/// a && b where either may be undefined (true).
Expr and_also(const Expr& a, const Expr& b);
/// select(condition, value, otherwise), or value for an undefined condition.
Expr guarded(const Expr& condition, const Expr& value, const Expr& otherwise);

/// The same window with numbers, for reference evaluation.
struct ConcreteWindow {
  std::vector<int64_t> kernel, strides, dilations, begin, end, in, out;
  int64_t position(size_t axis, int64_t o, int64_t t) const {
    return o * strides[axis] + t * dilations[axis] - begin[axis];
  }
};
/// `dims`: the whole input, with two leading axes.
ConcreteWindow concrete_window(const EvalContext& c, const std::vector<int64_t>& kernel,
                               const std::vector<int64_t>& dims);

}  // namespace symtile
