// NonZero, Compress, Unique, NonMaxSuppression, TopK: results whose size depends on the data get a
// fresh symbol that is bound at run time.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

/// `value` with the unknown dimension at `axis` bound to `count`.
ValueId bind_count(ImportContext& c, ValueId value, size_t axis, const DimExpr& count) {
  Type type = c.build().type(value);
  (*type.dims)[axis] = count;
  return c.build().match_cast(value, std::move(type));
}

DimExpr fresh(ImportContext& c, const char* hint) {
  return DimExpr::symbol(c.build().fresh_symbol(hint));
}

ValueId nonzero(ImportContext& c, ValueId x) {
  return bind_count(c, c.call("nonzero", {x}), 1, fresh(c, "nonzero"));
}

}  // namespace

void import_nonzero(ImportContext& c) {
  // A scalar counts as a vector of one element.
  const ValueId x = with_known_dims(c, c.in(0));
  c.out(0, nonzero(c, c.rank(0) == 0 ? c.reshape(x, {1}) : x));
}

void import_compress(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  const ValueId mask = with_known_dims(c, c.in(1));
  const Type mask_type = c.build().type(mask);
  if (mask_type.rank() != 1)
    c.fail(DiagId::type_mismatch, "the condition has rank {}, must have rank 1", mask_type.rank());
  const ValueId positions = nonzero(c, mask);
  const DimExpr count = c.build().type(positions).dims->at(1);
  const ValueId indices = c.reshape(positions, {count});
  const bool flat = !c.has_attr("axis");
  const int64_t axis = flat ? 0 : c.attr_int("axis", 0);
  const DimExpr extent =
      flat ? product(in)
           : in[static_cast<size_t>(c.normalize_axis(axis, static_cast<int>(in.size())))];
  c.build().check(max((*mask_type.dims)[0] - extent, 0), 0,
                  "the condition is not longer than the axis");
  c.out(0, c.call("gather", {flat ? c.reshape(x, {extent}) : x, indices}, {{"axis", axis}}));
}

void import_unique(ImportContext& c) {
  const ValueId x = with_known_dims(c, c.in(0));
  Attributes attrs = {{"sorted", c.attr_int("sorted", 1)}};
  size_t axis = 0;
  if (c.has_attr("axis")) {
    axis = static_cast<size_t>(c.normalize_axis(c.attr_int("axis", 0), c.rank(0)));
    attrs.set("axis", static_cast<int64_t>(axis));
  }
  const std::vector<ValueId> results = c.build().call_many("unique", {x}, std::move(attrs));
  const DimExpr count = fresh(c, "unique");
  c.out(0, bind_count(c, results[0], axis, count));
  if (c.wants(1)) c.out(1, bind_count(c, results[1], 0, count));
  if (c.wants(2)) c.out(2, results[2]);
  if (c.wants(3)) c.out(3, bind_count(c, results[3], 0, count));
}

void import_non_max_suppression(ImportContext& c) {
  std::vector<ValueId> args;
  for (int i = 0; i < c.num_inputs(); ++i) args.push_back(c.in_or_none(i));
  const ValueId selected = c.call("non_max_suppression", std::move(args),
                                  {{"center_point_box", c.attr_int("center_point_box", 0)}});
  c.out(0, bind_count(c, selected, 0, fresh(c, "selected")));
}

void import_top_k(ImportContext& c) {
  const DimExpr k = c.opset() < 10 ? DimExpr(c.attr_int("k", -1)) : require_simple_dims(c, 1).at(0);
  if (k.as_const().value_or(0) < 0) c.fail(DiagId::bad_attribute, "k is {}", k.str());
  const std::vector<ValueId> results = c.build().call_many("top_k", {c.in(0)},
                                                           {{"axis", c.attr_int("axis", -1)},
                                                            {"k", Dims{k}},
                                                            {"largest", c.attr_int("largest", 1)},
                                                            {"sorted", c.attr_int("sorted", 1)}});
  c.out(0, results[0]);
  if (c.wants(1)) c.out(1, results[1]);
}

}  // namespace symtile::onnx_import
