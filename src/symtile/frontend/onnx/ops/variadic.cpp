// Sum, Mean, Max and Min of any number of tensors: chains of the binary operators.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

namespace {

ValueId chain(ImportContext& c, const char* op) {
  ValueId value = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) value = c.call(op, {value, c.in(i)});
  return value;
}

}  // namespace

void import_sum(ImportContext& c) { c.out(0, chain(c, "add")); }
void import_max(ImportContext& c) { c.out(0, chain(c, "max")); }
void import_min(ImportContext& c) { c.out(0, chain(c, "min")); }

void import_mean(ImportContext& c) {
  const ValueId sum = chain(c, "add");
  c.out(0, c.num_inputs() == 1 ? sum : c.call("div", {sum, c.scalar_like(sum, c.num_inputs())}));
}

}  // namespace symtile::onnx_import
