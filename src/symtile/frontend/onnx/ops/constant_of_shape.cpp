// ConstantOfShape and EyeLike: tensors made from a shape alone.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_constant_of_shape(ImportContext& c) {
  Dims shape = require_simple_dims(c, 0);
  for (DimExpr& d : shape) {
    if (d.as_const().value_or(0) < 0)
      c.fail(DiagId::bad_attribute, "a dimension of the shape is {}", d.str());
    // A number read at run time: reject a negative one instead of taking it for an extent.
    if (!c.facts().proves_le(0, d))
      c.build().check(max(-d, 0), 0, "a dimension of the shape is not negative");
  }
  const Constant value = c.attr_tensor("value");
  if (value && value->element_count() != 1) {
    c.fail(DiagId::bad_attribute, "the value has {} elements", value->element_count());
  }
  const DType dtype = value ? value->dtype : DType::f32;
  const double number = value ? value->as_double(0) : 0;
  // Integers above 2^53 do not fit the attribute of `full`.
  if (value && !is_float(dtype) && (number > 0x1p53 || number < -0x1p53)) {
    const ValueId scalar = c.reshape(c.build().constant(value), {});
    c.out(0, c.call("expand", {scalar}, {{"shape", shape}}));
    return;
  }
  c.out(0, c.call("full", {}, {{"dtype", dtype}, {"shape", shape}, {"value", number}}));
}

void import_eye_like(ImportContext& c) {
  if (c.rank(0) != 2)
    c.fail(DiagId::type_mismatch, "the input has rank {}, must have rank 2", c.rank(0));
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims shape = *c.build().type(x).dims;
  c.out(0, c.call("eye", {},
                  {{"dtype", c.attr_dtype("dtype", c.dtype(0))},
                   {"k", c.attr_int("k", 0)},
                   {"shape", shape}}));
}

}  // namespace symtile::onnx_import
