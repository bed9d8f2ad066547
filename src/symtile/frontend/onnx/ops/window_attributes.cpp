#include "symtile/frontend/onnx/ops/window_attributes.h"

namespace symtile::onnx_import {

std::pair<DimExpr, DimExpr> split_padding(const DimExpr& total, bool upper) {
  const DimExpr half = floordiv(total, 2);
  return upper ? std::pair{half, total - half} : std::pair{total - half, half};
}

std::vector<int64_t> required_kernel(ImportContext& c) {
  if (!c.has_attr("kernel_shape")) {
    c.fail(DiagId::bad_attribute, "attribute kernel_shape is missing");
  }
  return c.attr_ints("kernel_shape", {});
}

Attributes window_attributes(ImportContext& c, const Dims& kernel) {
  const size_t n = kernel.size();
  const std::vector<int64_t> strides = c.attr_ints("strides", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> dilations = c.attr_ints("dilations", std::vector<int64_t>(n, 1));
  for (const auto& [name, values] : {std::pair{"strides", &strides}, {"dilations", &dilations}}) {
    if (values->size() != n) {
      c.fail(DiagId::bad_attribute, "{} has {} entries, but there are {} spatial axes", name,
             values->size(), n);
    }
    for (const int64_t v : *values) {
      if (v < 1) c.fail(DiagId::bad_attribute, "every entry of {} must be at least 1", name);
    }
  }
  Attributes attrs = {{"strides", strides}, {"dilations", dilations}};
  Dims pads(2 * n, DimExpr(0));
  const std::string auto_pad = c.attr_text("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    const Dims& x = c.dims(0);
    for (size_t k = 0; k < n; ++k) {
      const DimExpr& in = x.at(k + 2);
      if (in.is_unknown())
        c.fail(DiagId::unsupported, "auto_pad over a dimension that is not known");
      const DimExpr reach = (kernel[k] - 1) * dilations[k] + 1;
      DimExpr total = (ceildiv(in, strides[k]) - 1) * strides[k] + reach - in;
      // The windows reach the end of the input whenever they are at least as long as a stride.
      if (!c.facts().proves_le(strides[k], reach)) total = max(total, 0);
      std::tie(pads[k], pads[n + k]) = split_padding(total, auto_pad == "SAME_UPPER");
    }
  } else if (auto_pad == "NOTSET") {
    const std::vector<int64_t> given = c.attr_ints("pads", std::vector<int64_t>(2 * n, 0));
    if (given.size() != 2 * n) {
      c.fail(DiagId::bad_attribute, "pads has {} entries, but {} spatial axes need {}",
             given.size(), n, 2 * n);
    }
    pads = Dims(given.begin(), given.end());
    if (c.attr_int("ceil_mode", 0) != 0) attrs.set("ceil_mode", int64_t{1});
  } else if (auto_pad != "VALID") {
    c.fail(DiagId::bad_attribute,
           "auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
  }
  attrs.set("pads", pads);
  return attrs;
}

}  // namespace symtile::onnx_import
