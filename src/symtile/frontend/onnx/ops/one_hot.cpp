// OneHot.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_one_hot(ImportContext& c) {
  DimExpr depth;
  if (const Constant known = c.constant(1)) {
    if (known->element_count() != 1)
      c.fail(DiagId::bad_attribute, "the depth has {} elements", known->element_count());
    depth = is_float(known->dtype) ? static_cast<int64_t>(known->as_double(0)) : known->as_int(0);
  } else if (is_float(c.dtype(1))) {
    depth = c.build().read_dims(c.cast(c.in(1), DType::i64), 1, "depth").at(0);
  } else {
    depth = require_simple_dims(c, 1).at(0);
  }
  // Indices of a float type count as the integers they hold.
  const ValueId indices = is_int(c.dtype(0)) ? c.in(0) : c.cast(c.in(0), DType::i64);
  c.out(0, c.call("one_hot", {indices, c.in(2)},
                  {{"axis", c.attr_int("axis", -1)}, {"depth", Dims{depth}}}));
}

}  // namespace symtile::onnx_import
