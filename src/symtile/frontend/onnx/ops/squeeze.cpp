// Squeeze, Unsqueeze and Flatten: views with other dimensions.
#include <algorithm>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

/// The axes attribute (before opset 13) or input.
std::vector<int64_t> axes_of(ImportContext& c) {
  return c.opset() < 13 ? c.attr_ints("axes", {}) : c.require_ints(1, "the axes");
}

bool contains(const std::vector<int>& axes, size_t d) {
  return std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
}

}  // namespace

void import_squeeze(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const bool given = c.opset() < 13 ? c.has_attr("axes") : c.has(1);
  std::vector<int> axes;
  if (given) {
    for (int64_t a : axes_of(c)) axes.push_back(c.normalize_axis(a, static_cast<int>(in.size())));
  }
  Dims out;
  for (size_t d = 0; d < in.size(); ++d) {
    if (given && contains(axes, d)) {
      c.build().check(in[d], 1, fmt::format("squeezed dimension {} is 1", d));
    } else if (given || !c.facts().proves_equal(in[d], 1)) {
      out.push_back(in[d]);
      // Without axes every 1 goes; the rank of the result is fixed only if the others are not 1.
      if (!given) {
        c.build().check(
            min(max(in[d] - 1, 1 - in[d]), 1), 1,
            fmt::format("dimension {} is not 1, so that Squeeze without axes keeps it", d));
      }
    }
  }
  c.out(0, c.reshape(x, std::move(out)));
}

void import_unsqueeze(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const std::vector<int64_t> given = axes_of(c);
  const size_t rank = in.size() + given.size();
  std::vector<int> axes;
  for (int64_t a : given) {
    const int axis = c.normalize_axis(a, static_cast<int>(rank));
    if (contains(axes, static_cast<size_t>(axis)))
      c.fail(DiagId::bad_attribute, "axis {} is given twice", axis);
    axes.push_back(axis);
  }
  Dims out;
  auto next = in.begin();
  for (size_t d = 0; d < rank; ++d) out.push_back(contains(axes, d) ? DimExpr(1) : *next++);
  c.out(0, c.reshape(x, std::move(out)));
}

void import_flatten(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const auto rank = static_cast<int64_t>(in.size());
  const int64_t axis = c.attr_int("axis", 1);
  if (axis < -rank || axis > rank) {
    c.fail(DiagId::bad_attribute, "axis {} of an input of rank {}", axis, rank);
  }
  const auto middle = in.begin() + (axis < 0 ? axis + rank : axis);
  c.out(0, c.reshape(x, {product(Dims(in.begin(), middle)), product(Dims(middle, in.end()))}));
}

}  // namespace symtile::onnx_import
