// Conv, ConvInteger and QLinearConv. QLinearConv sums exactly in i32, adds its i32 bias and then
// requantises with a scale per tensor or per output channel.
#include "symtile/frontend/onnx/ops/requantize.h"
#include "symtile/frontend/onnx/ops/window_attributes.h"

namespace symtile::onnx_import {
namespace {

Attributes conv_attributes(ImportContext& c, int weight) {
  const int rank = c.type(weight).has_rank() ? c.type(weight).rank() : c.rank(0);
  if (rank < 3) c.fail(DiagId::type_mismatch, "the weight has rank {}, must be at least 3", rank);
  Dims kernel(static_cast<size_t>(rank - 2), DimExpr::unknown());
  if (c.type(weight).has_rank()) kernel = Dims(c.dims(weight).begin() + 2, c.dims(weight).end());
  if (c.has_attr("kernel_shape")) {
    const std::vector<int64_t> given = c.attr_ints("kernel_shape", {});
    if (given.size() != kernel.size()) {
      c.fail(DiagId::bad_attribute, "kernel_shape has {} entries, but there are {} spatial axes",
             given.size(), kernel.size());
    }
    for (size_t k = 0; k < kernel.size(); ++k) {
      if (!kernel[k].is_unknown() && c.facts().proves_not_equal(kernel[k], given[k])) {
        c.fail(DiagId::shape_mismatch, "kernel_shape says {} on spatial axis {}, the weight has {}",
               given[k], k, kernel[k].str());
      }
      kernel[k] = given[k];
    }
  }
  Attributes attrs = window_attributes(c, kernel);
  const int64_t group = c.attr_int("group", 1);
  if (group != 1) attrs.set("group", group);
  return attrs;
}

/// A per-channel vector shaped to broadcast along axis 1 of a tensor of the given rank.
ValueId per_channel(ImportContext& c, ValueId x, int rank) {
  x = scalar_if_single(c, x);
  const Type& type = c.build().type(x);
  if (!type.has_rank() || type.rank() != 1) return x;
  Dims dims(static_cast<size_t>(rank - 1), DimExpr(1));
  dims[0] = (*type.dims)[0];
  return c.reshape(x, dims);
}

}  // namespace

void import_conv(ImportContext& c) {
  c.out(0, c.call("conv", {c.in(0), c.in(1), c.in_or_none(2)}, conv_attributes(c, 1)));
}

void import_conv_integer(ImportContext& c) {
  std::vector<ValueId> args = {c.in(0), c.in(1), c.in_or_none(2), c.in_or_none(3)};
  for (size_t i = 2; i < 4; ++i) {
    if (is_zero_point_zero(c, args[i])) args[i] = {};
  }
  c.out(0, c.call("conv_integer", args, conv_attributes(c, 1)));
}

void import_qlinear_conv(ImportContext& c) {
  const int rank = c.type(3).has_rank() ? c.type(3).rank() : c.rank(0);
  ValueId x_zero = c.in(2), w_zero = c.in(5);
  if (is_zero_point_zero(c, x_zero)) x_zero = {};
  if (is_zero_point_zero(c, w_zero)) w_zero = {};
  ValueId sum = c.call("conv_integer", {c.in(0), c.in(3), x_zero, w_zero}, conv_attributes(c, 3));
  if (c.has(8)) sum = c.call("add", {sum, per_channel(c, c.in(8), rank)});
  const ValueId scale =
      c.call("mul", {scalar_if_single(c, c.in(1)), per_channel(c, c.in(4), rank)});
  c.out(0, requantize(c, sum, scale, scalar_if_single(c, c.in(6)),
                      scalar_if_single(c, c.in_or_none(7)), c.dtype(0)));
}

}  // namespace symtile::onnx_import
