// DFT (the axis is an attribute in opset 17, an input from 20) and STFT: framing, window,
// transform.
#include "symtile/frontend/onnx/ops/fourier.h"

namespace symtile::onnx_import {
namespace {

/// A scalar input as a formula.
DimExpr scalar_dim(ImportContext& c, int i, const char* what) {
  const Dims value = c.require_dims(i);
  if (value.size() != 1) c.fail(DiagId::bad_attribute, "{} must have one element", what);
  return value[0];
}

}  // namespace

void import_dft(ImportContext& c) {
  const int rank = c.rank(0);
  int64_t axis = c.opset() < 20 ? c.attr_int("axis", 1) : -2;
  if (c.opset() >= 20 && c.has(2)) {
    const std::vector<int64_t> given = c.require_ints(2, "axis");
    if (given.size() != 1) c.fail(DiagId::bad_attribute, "axis must have one element");
    axis = given[0];
  }
  const int at = c.normalize_axis(axis, rank);
  const bool inverse = c.attr_int("inverse", 0) != 0, onesided = c.attr_int("onesided", 0) != 0;
  const DimExpr& extent = c.dims(0)[static_cast<size_t>(at)];
  DimExpr length = inverse && onesided ? 2 * (extent - 1) : extent;
  if (c.has(1)) length = scalar_dim(c, 1, "dft_length");
  if (length.is_unknown()) c.fail(DiagId::unsupported, "a transform of unknown length");
  c.out(0, fourier(c, c.in(0), at, length, inverse, onesided));
}

void import_stft(ImportContext& c) {
  ValueId x = c.in(0);
  if (c.rank(0) == 2) x = c.unsqueeze(x, {2});
  if (c.rank(0) != 2 && c.rank(0) != 3) {
    c.fail(DiagId::type_mismatch, "the signal has rank {}, must have rank 3", c.rank(0));
  }
  const DimExpr step = scalar_dim(c, 1, "frame_step");
  DimExpr length = DimExpr::unknown();
  if (c.has(3)) {
    length = scalar_dim(c, 3, "frame_length");
  } else if (c.has(2)) {
    length = c.dims(2).at(0);
  }
  if (length.is_unknown())
    c.fail(DiagId::bad_attribute, "neither frame_length nor window is given");
  ValueId y = c.call("frame", {x}, {{"length", Dims{length}}, {"step", Dims{step}}});
  if (c.has(2)) y = c.call("mul", {y, c.unsqueeze(c.in(2), {1})});
  const bool real = (*c.build().type(x).dims)[2].is_const(1);
  const bool onesided = c.attr_int("onesided", 1) != 0;
  if (onesided && !real) {
    c.fail(DiagId::unsupported, "a one-sided transform of a complex signal");
  }
  c.out(0, fourier(c, y, 2, length, false, onesided));
}

}  // namespace symtile::onnx_import
