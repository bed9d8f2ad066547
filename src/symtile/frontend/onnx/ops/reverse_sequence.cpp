// ReverseSequence.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_reverse_sequence(ImportContext& c) {
  c.out(0, c.call("reverse_sequence", {c.in(0), c.in(1)},
                  {{"batch_axis", c.attr_int("batch_axis", 1)},
                   {"time_axis", c.attr_int("time_axis", 0)}}));
}

}  // namespace symtile::onnx_import
