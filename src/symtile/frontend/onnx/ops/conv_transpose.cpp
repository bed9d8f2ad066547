// ConvTranspose: padding from pads, from auto_pad (extent = in * stride) or from output_shape.
#include "symtile/frontend/onnx/ops/window_attributes.h"

namespace symtile::onnx_import {

void import_conv_transpose(ImportContext& c) {
  const Dims x = c.dims(0), w = c.dims(1);
  if (x.size() < 3 || w.size() != x.size()) {
    c.fail(DiagId::type_mismatch,
           "input of rank {} and weight of rank {}: both must have one rank "
           "of at least 3",
           x.size(), w.size());
  }
  const size_t n = x.size() - 2;
  const auto list = [&](const char* name, size_t count, int64_t fallback) {
    const std::vector<int64_t> values = c.attr_ints(name, std::vector<int64_t>(count, fallback));
    if (values.size() != count) {
      c.fail(DiagId::bad_attribute, "{} has {} entries, must have {}", name, values.size(), count);
    }
    return values;
  };
  const std::vector<int64_t> strides = list("strides", n, 1), dilations = list("dilations", n, 1);
  const std::vector<int64_t> more = list("output_padding", n, 0);
  const std::string auto_pad = c.attr_text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Dims wanted;  // result extents, when they decide the padding
  if (c.has_attr("output_shape")) {
    std::vector<int64_t> shape = c.attr_ints("output_shape", {});
    if (shape.size() == n + 2) shape.erase(shape.begin(), shape.begin() + 2);
    if (shape.size() != n) {
      c.fail(DiagId::bad_attribute, "output_shape has {} entries, must have {}", shape.size(), n);
    }
    wanted = Dims(shape.begin(), shape.end());
  } else if (same) {
    for (size_t k = 0; k < n; ++k) wanted.push_back(x[k + 2] * strides[k]);
  } else if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    c.fail(DiagId::bad_attribute,
           "auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
  }
  Dims pads(2 * n, DimExpr(0));
  if (!wanted.empty()) {
    for (size_t k = 0; k < n; ++k) {
      const DimExpr reach = (w[k + 2] - 1) * dilations[k] + 1;
      const DimExpr total = (x[k + 2] - 1) * strides[k] + more[k] + reach - wanted[k];
      if (total.is_unknown()) {
        c.fail(DiagId::unsupported, "padding that depends on a dimension that is not known");
      }
      // What is missing (a negative total) is added at the end.
      const DimExpr cut = c.facts().proves_le(0, total) ? total : max(total, 0);
      pads[k] = split_padding(cut, auto_pad == "SAME_UPPER").first;
      pads[n + k] = total - pads[k];
    }
  } else if (auto_pad == "NOTSET") {
    const std::vector<int64_t> given = list("pads", 2 * n, 0);
    pads = Dims(given.begin(), given.end());
  }
  Attributes attrs = {
      {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"output_padding", more}};
  const int64_t group = c.attr_int("group", 1);
  if (group != 1) attrs.set("group", group);
  c.out(0, c.call("conv_transpose", {c.in(0), c.in(1), c.in_or_none(2)}, attrs));
}

}  // namespace symtile::onnx_import
