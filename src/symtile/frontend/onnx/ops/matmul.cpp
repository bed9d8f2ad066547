// MatMul: numpy.matmul; a 1-D operand becomes a row (left) or a column (right) whose axis is
// dropped from the result.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_matmul(ImportContext& c) {
  ValueId a = c.in(0), b = c.in(1);
  const auto is_vector = [&](int i) { return c.type(i).has_rank() && c.type(i).rank() == 1; };
  for (int i = 0; i < 2; ++i) {
    if (c.type(i).has_rank() && c.type(i).rank() == 0) {
      c.fail(DiagId::type_mismatch, "operand {} of MatMul is a scalar", i);
    }
  }
  const bool left = is_vector(0), right = is_vector(1);
  if (left) a = c.unsqueeze(a, {0});
  if (right) b = c.unsqueeze(b, {1});
  ValueId y = c.call("matmul", {a, b});
  if (left || right) {
    const Type& type = c.build().type(y);
    if (!type.has_rank()) c.fail(DiagId::unsupported, "a vector times a tensor of unknown rank");
    Dims dims = *type.dims;
    if (left) dims.erase(dims.end() - 2);
    if (right) dims.pop_back();
    y = c.reshape(y, dims);
  }
  c.out(0, y);
}

}  // namespace symtile::onnx_import
