// Expand: numpy broadcasting of the input with a shape, in both directions.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

void import_expand(ImportContext& c) {
  const Dims target = require_simple_dims(c, 1);
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const Facts& facts = c.facts();
  const size_t rank = std::max(in.size(), target.size());
  Dims out(rank);
  for (size_t d = 0; d < rank; ++d) {
    const DimExpr a = d + in.size() < rank ? DimExpr(1) : in[d + in.size() - rank];
    const DimExpr b = d + target.size() < rank ? DimExpr(1) : target[d + target.size() - rank];
    const std::string message =
        fmt::format("entry {} of the shape, {}, broadcasts with {}", d, b.str(), a.str());
    if (b.as_const().value_or(0) < 0) {
      c.fail(DiagId::bad_attribute, "entry {} of the shape is {}", d, b.str());
    }
    if (facts.proves_equal(b, 1) || facts.proves_equal(a, b)) {
      out[d] = a;
    } else if (facts.proves_equal(a, 1)) {
      out[d] = b;
    } else if (facts.proves_not_equal(a, 1)) {
      out[d] = a;
      c.build().check((b - 1) * (b - a), 0, message);
    } else if (facts.proves_not_equal(b, 1)) {
      out[d] = b;  // the operator checks that a is 1 or b
    } else {
      out[d] = facts.simplify(max(a, b) * min(min(a, b), 1));
      c.build().check((a - b) * (a - 1) * (b - 1), 0, message);
    }
  }
  c.out(0, out == in ? x : c.call("expand", {x}, {{"shape", out}}));
}

}  // namespace symtile::onnx_import
