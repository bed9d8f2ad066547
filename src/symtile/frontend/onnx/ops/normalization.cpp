// Layer, RMS, instance, group, Lp, mean-variance and local response normalisation.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_layer_norm(ImportContext& c) {
  std::vector<ValueId> args = {c.in(0), c.in(1)};
  if (c.has(2)) args.push_back(c.in(2));
  Attributes attrs = {{"axis", c.attr_int("axis", -1)}, {"epsilon", c.attr_float("epsilon", 1e-5)}};
  if (!c.wants(1) && !c.wants(2)) {
    c.out(0, c.call("layer_norm", std::move(args), std::move(attrs)));
    return;
  }
  attrs.set("stats", int64_t{1});
  attrs.set("stash", c.attr_dtype("stash_type", DType::f32));
  const std::vector<ValueId> results =
      c.build().call_many("layer_norm", std::move(args), std::move(attrs));
  for (int k = 0; k < 3; ++k) {
    if (c.wants(k)) c.out(k, results[static_cast<size_t>(k)]);
  }
}

void import_rms_norm(ImportContext& c) {
  c.out(0, c.call("rms_norm", {c.in(0), c.in(1)},
                  {{"axis", c.attr_int("axis", -1)}, {"epsilon", c.attr_float("epsilon", 1e-5)}}));
}

void import_instance_norm(ImportContext& c) {
  c.out(0, c.call("instance_norm", {c.in(0), c.in(1), c.in(2)},
                  {{"epsilon", c.attr_float("epsilon", 1e-5)}}));
}

void import_group_norm(ImportContext& c) {
  if (!c.has_attr("num_groups")) c.fail(DiagId::bad_attribute, "attribute 'num_groups' is missing");
  Attributes attrs = {{"num_groups", c.attr_int("num_groups", 1)},
                      {"epsilon", c.attr_float("epsilon", 1e-5)}};
  // Opset 18 had one scale a group, 21 corrected it to one a channel.
  if (c.opset() < 21) attrs.set("per_group", int64_t{1});
  c.out(0, c.call("group_norm", {c.in(0), c.in(1), c.in(2)}, std::move(attrs)));
}

void import_lp_normalization(ImportContext& c) {
  const int64_t p = c.attr_int("p", 2);
  if (p != 1 && p != 2) c.fail(DiagId::bad_attribute, "p must be 1 or 2, not {}", p);
  const ValueId x = c.in(0);
  const ValueId norm = c.call(p == 1 ? "reduce_l1" : "reduce_l2", {x},
                              {{"axes", std::vector<int64_t>{c.attr_int("axis", -1)}}});
  // A line of zeros stays zero.
  const ValueId zero = c.scalar_like(norm, 0);
  const ValueId divisor =
      c.call("where", {c.call("equal", {norm, zero}), c.scalar_like(norm, 1), norm});
  c.out(0, c.call("div", {x, divisor}));
}

void import_mean_variance_normalization(ImportContext& c) {
  const std::vector<int64_t> axes = c.attr_ints("axes", {0, 2, 3});
  const ValueId x = c.in(0);
  const ValueId distance = c.call("sub", {x, c.call("reduce_mean", {x}, {{"axes", axes}})});
  const ValueId variance =
      c.call("reduce_mean", {c.call("mul", {distance, distance})}, {{"axes", axes}});
  const ValueId deviation = c.call("sqrt", {variance});
  c.out(0, c.call("div", {distance, c.call("add", {deviation, c.scalar_like(deviation, 1e-9)})}));
}

void import_lrn(ImportContext& c) {
  if (!c.has_attr("size")) c.fail(DiagId::bad_attribute, "attribute 'size' is missing");
  c.out(0, c.call("lrn", {c.in(0)},
                  {{"alpha", c.attr_float("alpha", 1e-4)},
                   {"beta", c.attr_float("beta", 0.75)},
                   {"bias", c.attr_float("bias", 1)},
                   {"size", c.attr_int("size", 1)}}));
}

}  // namespace symtile::onnx_import
