// Sliding windows in an operand: convolutions and pooling read x[.., s * o + d * t - p, ..] for an
// output coordinate o and a tap t. The operand then depends on u = s * o + d * t alone, so instead
// of one copy a tap (im2col) the elements of all u are copied once, split by phase u % s, and every
// tap is a shifted read of that copy with stride 1.
#pragma once

#include <optional>

#include "symtile/schedule/cpu/linear.h"

namespace symtile {

/// One sliding output axis. An axis without taps has stride 1 and one tap at distance 0.
struct WindowAxis {
  std::string out;     ///< output axis o
  std::string tap;     ///< reduction axis t; empty without one
  std::string at;      ///< variable that stands for u in the operand
  DimExpr outputs;     ///< extent of o
  int64_t taps = 1;    ///< extent of t
  int64_t stride = 1;  ///< s
  int64_t dilation = 0;
  int64_t phases = 1;  ///< phases 0 .. phases - 1 are read
  /// Elements of one phase.
  DimExpr extent() const { return outputs + shift(taps - 1); }
  int64_t shift(int64_t t) const { return dilation * t / stride; }
};

struct SlidingWindow {
  std::vector<WindowAxis> axes;  ///< in the order of the output axes
  std::vector<Axis> others;      ///< reduction axes that are no tap (channels)
  Expr operand;                  ///< the linear operand over `at` instead of out and tap
  int64_t taps() const;          ///< of all axes together
  int64_t phases() const;
  /// Positions of one phase in row-major order, gaps between the rows of outputs included.
  DimExpr plane() const;
  /// Distance between positions that are neighbours along axis i.
  DimExpr pitch(size_t i) const;
  /// Positions from the first output to the last one.
  DimExpr span() const;
  /// How far the last tap of a position is from the position.
  DimExpr reach() const;
};

/// Finds the window of `indexed` (a stage's operand with the buffers' own indices) over the output
/// axes `outs` and the reduction axes `reduced`, and rewrites `linear`, the same operand with flat
/// addresses. nullopt without taps, or, if `overlapping`, where the taps of neighbours do not
/// overlap. Taps must be the last of the reduction axes.
std::optional<SlidingWindow> find_window(const Expr& indexed, const Expr& linear,
                                         const std::vector<Axis>& outs,
                                         const std::vector<Axis>& reduced, const Facts& facts,
                                         bool overlapping = true);

}  // namespace symtile
