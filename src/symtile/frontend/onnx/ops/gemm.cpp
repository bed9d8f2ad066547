// Gemm: alpha * op(A) op(B) + beta * C, where op transposes or not and C broadcasts to the result.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_gemm(ImportContext& c) {
  const double alpha = c.attr_float("alpha", 1), beta = c.attr_float("beta", 1);
  Attributes attrs;
  if (c.attr_int("transA", 0) != 0) attrs.set("transpose_a", int64_t{1});
  if (c.attr_int("transB", 0) != 0) attrs.set("transpose_b", int64_t{1});
  for (int i = 0; i < 2; ++i) {
    if (c.type(i).has_rank() && c.type(i).rank() != 2) {
      c.fail(DiagId::type_mismatch, "operand {} of Gemm has rank {}, must have rank 2", i,
             c.type(i).rank());
    }
  }
  ValueId y = c.call("matmul", {c.in(0), c.in(1)}, attrs);
  if (alpha != 1) y = c.call("mul", {y, c.scalar_like(y, alpha)});
  if (c.has(2) && beta != 0) {
    ValueId bias = c.in(2);
    if (beta != 1) bias = c.call("mul", {bias, c.scalar_like(bias, beta)});
    y = c.call("add", {y, bias});
  }
  c.out(0, y);
}

}  // namespace symtile::onnx_import
