// BatchNormalization: inference is one operator; with training_mode (opset 14) the statistics of
// the batch are computed, used and mixed into the running ones.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

namespace {

/// running * momentum + current * (1 - momentum), with the dtype of `running`.
ValueId mix(ImportContext& c, ValueId running, ValueId current) {
  const DType dtype = c.build().type(running).dtype;
  const double momentum = c.attr_float("momentum", 0.9);
  const ValueId wide = c.cast(running, c.build().type(current).dtype);
  const ValueId old_part = c.call("mul", {wide, c.scalar_like(wide, momentum)});
  const ValueId new_part = c.call("mul", {current, c.scalar_like(current, 1 - momentum)});
  return c.cast(c.call("add", {old_part, new_part}), dtype);
}

void import_training(ImportContext& c) {
  const int rank = c.rank(0);
  const DimExpr channels = rank == 1 ? DimExpr(1) : c.dims(0)[1];
  std::vector<int64_t> axes;
  for (int k = 0; k < rank; ++k) {
    if (k != 1) axes.push_back(k);
  }
  const DType dtype = c.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const ValueId x = c.cast(c.in(0), dtype);
  const ValueId mean = c.call("reduce_mean", {x}, {{"axes", axes}});
  const ValueId distance = c.call("sub", {x, mean});
  const ValueId variance =
      c.call("reduce_mean", {c.call("mul", {distance, distance})}, {{"axes", axes}});
  const ValueId flat_mean = c.reshape(mean, {channels});
  const ValueId flat_variance = c.reshape(variance, {channels});
  c.out(0, c.call("batch_norm", {c.in(0), c.in(1), c.in(2), flat_mean, flat_variance},
                  {{"epsilon", c.attr_float("epsilon", 1e-5)}}));
  if (c.wants(1)) c.out(1, mix(c, c.in(3), flat_mean));
  if (c.wants(2)) c.out(2, mix(c, c.in(4), flat_variance));
}

}  // namespace

void import_batch_norm(ImportContext& c) {
  if (c.attr_int("spatial", 1) == 0) {
    c.fail(DiagId::unsupported, "statistics for every activation (spatial = 0)");
  }
  if (c.opset() >= 14 && c.attr_int("training_mode", 0) != 0) {
    import_training(c);
    return;
  }
  for (int k = 1; k < c.num_outputs(); ++k) {
    if (c.wants(k)) c.fail(DiagId::unsupported, "output {} exists in training only", k);
  }
  c.out(0, c.call("batch_norm", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)},
                  {{"epsilon", c.attr_float("epsilon", 1e-5)}}));
}

}  // namespace symtile::onnx_import
