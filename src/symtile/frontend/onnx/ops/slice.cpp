// Slice and Split: bounds become clamped formulas, in the normal form of the core operator `slice`.
#include <algorithm>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

struct Bounds {
  DimExpr begin, extent;
};

/// A start or end as a position from the front, in [low, high]; negative ones count from the end.
DimExpr clamp_bound(const DimExpr& bound, const DimExpr& extent, const DimExpr& low,
                    const DimExpr& high, const Facts& facts) {
  if (const auto v = bound.as_const()) {
    // "To the end" is written as the largest (or smallest) integer.
    if (*v >= kMaxDim) return high;
    if (*v <= -kMaxDim) return low;
  }
  const auto at_most_high = [&](const DimExpr& e) { return facts.simplify(min(e, high)); };
  if (facts.proves_le(0, bound)) return at_most_high(max(bound, low));
  if (facts.proves_lt(bound, 0)) return at_most_high(max(facts.simplify(extent + bound), low));
  // The sign is known only at run time.
  return at_most_high(max(bound + is_positive(-bound) * extent, low));
}

Bounds resolve(const DimExpr& start, const DimExpr& end, int64_t step, const DimExpr& extent,
               const Facts& facts) {
  if (step > 0) {
    const DimExpr begin = clamp_bound(start, extent, 0, extent, facts);
    const DimExpr stop = clamp_bound(end, extent, 0, extent, facts);
    const DimExpr length = facts.simplify(max(begin, stop)) - begin;
    return {begin, facts.simplify(ceildiv(length, step))};
  }
  const DimExpr begin = clamp_bound(start, extent, 0, extent - 1, facts);
  const DimExpr stop = clamp_bound(end, extent, -1, extent - 1, facts);
  const DimExpr length = begin - facts.simplify(min(begin, stop));
  return {begin, facts.simplify(ceildiv(length, -step))};
}

}  // namespace

void import_slice(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const int rank = static_cast<int>(in.size());
  Dims starts, ends;
  std::vector<int64_t> axes, steps;
  const auto to_dims = [](const std::vector<int64_t>& values) {
    return Dims(values.begin(), values.end());
  };
  const bool attributes = c.opset() < 10;
  if (attributes) {
    starts = to_dims(c.attr_ints("starts", {}));
    ends = to_dims(c.attr_ints("ends", {}));
  } else {
    starts = require_simple_dims(c, 1);
    ends = require_simple_dims(c, 2);
  }
  for (size_t k = 0; k < starts.size(); ++k) axes.push_back(static_cast<int64_t>(k));
  steps.assign(starts.size(), 1);
  if (attributes) {
    axes = c.attr_ints("axes", axes);
  } else {
    if (c.has(3)) axes = c.require_ints(3, "the axes");
    if (c.has(4)) steps = c.require_ints(4, "the steps");
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    c.fail(DiagId::bad_attribute, "starts, ends, axes and steps have {}, {}, {} and {} entries",
           starts.size(), ends.size(), axes.size(), steps.size());
  }

  Dims begin(in.size(), 0), extent = in;
  std::vector<int64_t> step(in.size(), 1);
  std::vector<bool> seen(in.size(), false);
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto d = static_cast<size_t>(c.normalize_axis(axes[k], rank));
    if (seen[d]) c.fail(DiagId::bad_attribute, "axis {} is given twice", d);
    seen[d] = true;
    if (steps[k] == 0) c.fail(DiagId::bad_attribute, "the step of axis {} is 0", d);
    // Longer steps than any dimension all pick the first element only.
    step[d] = std::clamp(steps[k], -kMaxDim, kMaxDim);
    const Bounds b = resolve(starts[k], ends[k], step[d], in[d], c.facts());
    begin[d] = b.begin;
    extent[d] = b.extent;
  }
  const bool all =
      extent == in &&
      std::all_of(begin.begin(), begin.end(), [](const DimExpr& b) { return b.is_const(0); }) &&
      std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; });
  c.out(0, all ? x : c.call("slice", {x}, {{"begin", begin}, {"extent", extent}, {"step", step}}));
}

namespace {

/// Where each part ends, from explicit sizes.
Dims ends_from_sizes(ImportContext& c, const Dims& sizes, const DimExpr& extent) {
  Dims ends;
  DimExpr at = 0;
  for (const DimExpr& s : sizes) {
    if (s.as_const().value_or(0) < 0)
      c.fail(DiagId::bad_attribute, "a part has the size {}", s.str());
    if (!c.facts().proves_le(0, s))
      c.build().check(max(-s, 0), 0, "the size of a part is not negative");
    at += s;
    ends.push_back(at);
  }
  c.build().check(at, extent, "the sizes of the parts sum to the split dimension");
  return ends;
}

/// Where each of `count` equal parts ends. From opset 18 on the last part may be smaller: with
/// chunks of ceil(extent / count), and what has no elements left is empty.
Dims ends_of_equal_parts(ImportContext& c, int64_t count, const DimExpr& extent) {
  const Facts& facts = c.facts();
  const bool ragged = c.opset() >= 18 && !facts.proves_divisible(extent, count);
  if (!ragged)
    c.build().check(floormod(extent, count), 0,
                    fmt::format("the dimension splits into {} equal parts", count));
  const DimExpr chunk = facts.simplify(ragged ? ceildiv(extent, count) : floordiv(extent, count));
  Dims ends;
  for (int64_t k = 1; k < count; ++k)
    ends.push_back(ragged ? facts.simplify(min(chunk * k, extent)) : chunk * k);
  ends.push_back(extent);
  return ends;
}

}  // namespace

void import_split(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const auto axis =
      static_cast<size_t>(c.normalize_axis(c.attr_int("axis", 0), static_cast<int>(in.size())));
  Dims ends;
  if (c.opset() >= 13 && c.has(1)) {
    ends = ends_from_sizes(c, require_simple_dims(c, 1), in[axis]);
  } else if (c.opset() < 13 && c.has_attr("split")) {
    const std::vector<int64_t> sizes = c.attr_ints("split", {});
    ends = ends_from_sizes(c, Dims(sizes.begin(), sizes.end()), in[axis]);
  } else {
    const int64_t count =
        c.opset() >= 18 ? c.attr_int("num_outputs", c.num_outputs()) : c.num_outputs();
    if (count < 1) c.fail(DiagId::bad_attribute, "num_outputs is {}", count);
    if (count < c.num_outputs())
      c.fail(DiagId::bad_attribute, "{} parts for {} outputs", count, c.num_outputs());
    ends = ends_of_equal_parts(c, count, in[axis]);
  }
  if (static_cast<int>(ends.size()) < c.num_outputs()) {
    c.fail(DiagId::bad_attribute, "{} parts for {} outputs", ends.size(), c.num_outputs());
  }
  const std::vector<int64_t> step(in.size(), 1);
  for (int k = 0; k < c.num_outputs(); ++k) {
    if (!c.wants(k)) continue;
    Dims begin(in.size(), 0), extent = in;
    if (k > 0) begin[axis] = ends[static_cast<size_t>(k) - 1];
    extent[axis] = c.facts().simplify(ends[static_cast<size_t>(k)] - begin[axis]);
    c.out(k, ends.size() == 1
                 ? x
                 : c.call("slice", {x}, {{"begin", begin}, {"extent", extent}, {"step", step}}));
  }
}

}  // namespace symtile::onnx_import
