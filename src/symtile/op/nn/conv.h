// Parts shared by convolution operators (float and 8-bit integer).
#pragma once

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/window.h"

namespace symtile {

/// Result dims of a convolution of x (arg 0) with w (arg 1); nullopt when no rank is known.
std::optional<Dims> deduce_conv_dims(DeduceContext& c);

/// Calls f(n, oc, spatial index) -> sum over the taps for every output; `tap(x offset or -1 for
/// padding, w offset, input channel)` is called for each.
struct ConvTap {
  int64_t x;  ///< flat position, -1 in the padding
  int64_t w;
};
/// Visits every tap of the output element at `index`.
void for_each_conv_tap(const EvalContext& c, const std::vector<int64_t>& index,
                       const ConcreteWindow& window, const std::function<void(const ConvTap&)>& f);
ConcreteWindow conv_window(const EvalContext& c);
std::vector<int64_t> conv_extents(const EvalContext& c, const ConcreteWindow& window);

/// The contraction of a convolution at output `index`: sum over (input channel in the group, taps)
/// of data(x index, in bounds or undefined) * weight(w index).
Expr conv_sum(LowerContext& c, const Index& index,
              const std::function<Expr(const Index&, const Expr&)>& data,
              const std::function<Expr(const Index&)>& weight);

}  // namespace symtile
