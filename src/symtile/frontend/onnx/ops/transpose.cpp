// Transpose: without perm the axes are reversed.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_transpose(ImportContext& c) {
  if (c.has_attr("perm")) {
    c.out(0, c.transpose(c.in(0), c.attr_ints("perm", {})));
    return;
  }
  std::vector<int64_t> perm;
  for (int d = c.rank(0); d-- > 0;) perm.push_back(d);
  c.out(0, c.transpose(c.in(0), std::move(perm)));
}

}  // namespace symtile::onnx_import
