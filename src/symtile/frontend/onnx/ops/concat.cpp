// Concat.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_concat(ImportContext& c) {
  std::vector<ValueId> parts;
  for (int i = 0; i < c.num_inputs(); ++i) parts.push_back(c.in(i));
  if (parts.size() == 1) {
    c.out(0, parts[0]);
    return;
  }
  c.out(0, c.call("concat", std::move(parts), {{"axis", c.attr_int("axis", 1)}}));
}

}  // namespace symtile::onnx_import
