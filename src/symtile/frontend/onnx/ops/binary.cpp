// Binary operators whose meaning depends on an attribute.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_mod(ImportContext& c) {
  c.out(0, c.call("mod", {c.in(0), c.in(1)}, {{"fmod", c.attr_int("fmod", 0)}}));
}

void import_bit_shift(ImportContext& c) {
  const std::string direction = c.attr_text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    c.fail(DiagId::bad_attribute, "direction must be \"LEFT\" or \"RIGHT\", not \"{}\"", direction);
  }
  c.out(0, c.call(direction == "LEFT" ? "shift_left" : "shift_right", {c.in(0), c.in(1)}));
}

}  // namespace symtile::onnx_import
