// Gather, GatherElements, GatherND, ScatterElements, ScatterND and the old Scatter.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_gather(ImportContext& c) {
  c.out(0, c.call("gather", {c.in(0), c.in(1)}, {{"axis", c.attr_int("axis", 0)}}));
}

void import_gather_elements(ImportContext& c) {
  c.out(0, c.call("gather_elements", {c.in(0), c.in(1)}, {{"axis", c.attr_int("axis", 0)}}));
}

void import_gather_nd(ImportContext& c) {
  c.out(0, c.call("gather_nd", {c.in(0), c.in(1)}, {{"batch_dims", c.attr_int("batch_dims", 0)}}));
}

void import_scatter_elements(ImportContext& c) {
  c.out(0,
        c.call("scatter_elements", {c.in(0), c.in(1), c.in(2)},
               {{"axis", c.attr_int("axis", 0)}, {"reduction", c.attr_text("reduction", "none")}}));
}

void import_scatter_nd(ImportContext& c) {
  c.out(0, c.call("scatter_nd", {c.in(0), c.in(1), c.in(2)},
                  {{"reduction", c.attr_text("reduction", "none")}}));
}

}  // namespace symtile::onnx_import
