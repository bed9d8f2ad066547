// MatMulInteger and QLinearMatMul. A zero point or scale of the left operand is per tensor or per
// row, of the right operand per tensor or per column. QLinearMatMul sums exactly in i32 and then
// requantises.
#include "symtile/frontend/onnx/ops/requantize.h"

namespace symtile::onnx_import {
namespace {

/// matmul_integer with numpy's treatment of vectors.
ValueId integer_matmul(ImportContext& c, int a_at, int b_at, ValueId a_zero, ValueId b_zero) {
  ValueId a = c.in(a_at), b = c.in(b_at);
  const bool left = c.rank(a_at) == 1, right = c.rank(b_at) == 1;
  if (left) a = c.unsqueeze(a, {0});
  if (right) b = c.unsqueeze(b, {1});
  a_zero = is_zero_point_zero(c, a_zero) ? ValueId{} : as_column(c, a_zero);
  b_zero = is_zero_point_zero(c, b_zero) ? ValueId{} : scalar_if_single(c, b_zero);
  const ValueId y = c.call("matmul_integer", {a, b, a_zero, b_zero});
  if (!left && !right) return y;
  Dims dims = *c.build().type(y).dims;
  if (left) dims.erase(dims.end() - 2);
  if (right) dims.pop_back();
  return c.reshape(y, dims);
}

}  // namespace

void import_matmul_integer(ImportContext& c) {
  c.out(0, integer_matmul(c, 0, 1, c.in_or_none(2), c.in_or_none(3)));
}

void import_qlinear_matmul(ImportContext& c) {
  const ValueId sum = integer_matmul(c, 0, 3, c.in(2), c.in(5));
  const ValueId a_scale = as_column(c, c.in(1)), b_scale = scalar_if_single(c, c.in(4));
  const ValueId scale = c.call("mul", {a_scale, b_scale});
  c.out(0, requantize(c, sum, scale, as_column(c, c.in(6)), as_column(c, c.in_or_none(7)),
                      c.dtype(0)));
}

}  // namespace symtile::onnx_import
