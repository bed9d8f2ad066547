// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, expanded: pick the log-probability of the
// target class, weigh it, and reduce. A target equal to ignore_index counts for nothing.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

ValueId zero_where(ImportContext& c, ValueId condition, ValueId x) {
  return c.call("where", {condition, c.scalar_like(x, 0), x});
}

/// Loss from log-probabilities (N, C, d...), targets (N, d...) and optional weights (C).
ValueId likelihood_loss(ImportContext& c, ValueId log_prob, ValueId target, ValueId weight) {
  const DType dtype = c.build().type(log_prob).dtype;
  ValueId ignored;
  if (c.has_attr("ignore_index")) {
    const ValueId index = c.scalar_like(target, static_cast<double>(c.attr_int("ignore_index", 0)));
    ignored = c.call("equal", {target, index});
    target = zero_where(c, ignored, target);  // any class: it is not used
  }
  const ValueId picked =
      c.call("gather_elements", {log_prob, c.unsqueeze(target, {1})}, {{"axis", int64_t{1}}});
  ValueId loss = c.call("neg", {c.reshape(picked, *c.build().type(target).dims)});
  ValueId factor;
  if (weight.valid()) {
    factor = c.call("gather", {weight, target}, {{"axis", int64_t{0}}});
    if (ignored.valid()) factor = zero_where(c, ignored, factor);
    loss = c.call("mul", {loss, factor});
  } else if (ignored.valid()) {
    factor = c.cast(c.call("logical_not", {ignored}), dtype);
  }
  if (ignored.valid()) loss = zero_where(c, ignored, loss);

  const std::string reduction = c.attr_text("reduction", "mean");
  if (reduction == "none") return loss;
  const Attributes all = {{"keepdims", int64_t{0}}};
  if (reduction == "sum") return c.call("reduce_sum", {loss}, all);
  if (reduction != "mean") {
    c.fail(DiagId::bad_attribute, "reduction must be \"none\", \"sum\" or \"mean\", not \"{}\"",
           reduction);
  }
  if (!factor.valid()) return c.call("reduce_mean", {loss}, all);
  return c.call("div", {c.call("reduce_sum", {loss}, all), c.call("reduce_sum", {factor}, all)});
}

}  // namespace

void import_negative_log_likelihood_loss(ImportContext& c) {
  const ValueId target = with_known_dims(c, c.in(1));
  c.out(0, likelihood_loss(c, c.in(0), target, c.in_or_none(2)));
}

void import_softmax_cross_entropy_loss(ImportContext& c) {
  const ValueId log_prob = c.call("log_softmax", {c.in(0)}, {{"axis", int64_t{1}}});
  const ValueId target = with_known_dims(c, c.in(1));
  c.out(0, likelihood_loss(c, log_prob, target, c.in_or_none(2)));
  if (c.wants(1)) c.out(1, log_prob);
}

}  // namespace symtile::onnx_import
