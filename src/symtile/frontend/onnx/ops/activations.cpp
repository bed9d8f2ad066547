// Elementwise operators with attributes: each becomes the core operator of the same meaning.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

namespace {

/// One real attribute with its ONNX default.
struct Real {
  const char* name;
  double fallback;
};

void import_with_reals(ImportContext& c, const char* op, std::initializer_list<Real> reals) {
  Attributes attrs;
  for (const Real& r : reals) attrs.set(r.name, c.attr_float(r.name, r.fallback));
  c.out(0, c.call(op, {c.in(0)}, std::move(attrs)));
}

}  // namespace

void import_celu(ImportContext& c) { import_with_reals(c, "celu", {{"alpha", 1}}); }
void import_elu(ImportContext& c) { import_with_reals(c, "elu", {{"alpha", 1}}); }
void import_leaky_relu(ImportContext& c) { import_with_reals(c, "leaky_relu", {{"alpha", 0.01}}); }
void import_selu(ImportContext& c) {
  import_with_reals(c, "selu",
                    {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
}
void import_hard_sigmoid(ImportContext& c) {
  import_with_reals(c, "hard_sigmoid", {{"alpha", 0.2}, {"beta", 0.5}});
}
void import_shrink(ImportContext& c) {
  import_with_reals(c, "shrink", {{"bias", 0}, {"lambd", 0.5}});
}
void import_swish(ImportContext& c) { import_with_reals(c, "swish", {{"alpha", 1}}); }
void import_thresholded_relu(ImportContext& c) {
  import_with_reals(c, "thresholded_relu", {{"alpha", 1}});
}

void import_gelu(ImportContext& c) {
  const std::string how = c.attr_text("approximate", "none");
  c.out(0, c.call("gelu", {c.in(0)}, {{"approximate", how}}));
}

void import_isinf(ImportContext& c) {
  c.out(0, c.call("isinf", {c.in(0)},
                  {{"detect_negative", c.attr_int("detect_negative", 1)},
                   {"detect_positive", c.attr_int("detect_positive", 1)}}));
}

}  // namespace symtile::onnx_import
