// AveragePool, MaxPool, LpPool and the global pools, which are reductions of the spatial axes.
#include "symtile/frontend/onnx/ops/window_attributes.h"

namespace symtile::onnx_import {
namespace {

Attributes pool_attributes(ImportContext& c) {
  const std::vector<int64_t> kernel = required_kernel(c);
  Attributes attrs = window_attributes(c, Dims(kernel.begin(), kernel.end()));
  attrs.set("kernel", kernel);
  return attrs;
}

Attributes spatial_axes(ImportContext& c) {
  std::vector<int64_t> axes;
  for (int k = 2; k < c.rank(0); ++k) axes.push_back(k);
  return {{"axes", axes}, {"keepdims", int64_t{1}}};
}

}  // namespace

void import_average_pool(ImportContext& c) {
  Attributes attrs = pool_attributes(c);
  if (c.attr_int("count_include_pad", 0) != 0) attrs.set("count_include_pad", int64_t{1});
  c.out(0, c.call("average_pool", {c.in(0)}, attrs));
}

void import_max_pool(ImportContext& c) {
  Attributes attrs = pool_attributes(c);
  if (!c.wants(1)) {
    c.out(0, c.call("max_pool", {c.in(0)}, attrs));
    return;
  }
  attrs.set("indices", int64_t{1});
  if (c.attr_int("storage_order", 0) != 0) attrs.set("storage_order", int64_t{1});
  const std::vector<ValueId> results = c.build().call_many("max_pool", {c.in(0)}, attrs);
  c.out(0, results[0]);
  c.out(1, results[1]);
}

void import_lp_pool(ImportContext& c) {
  Attributes attrs = pool_attributes(c);
  attrs.set("p", c.attr_int("p", 2));
  c.out(0, c.call("lp_pool", {c.in(0)}, attrs));
}

void import_global_average_pool(ImportContext& c) {
  c.out(0, c.call("reduce_mean", {c.in(0)}, spatial_axes(c)));
}

void import_global_max_pool(ImportContext& c) {
  c.out(0, c.call("reduce_max", {c.in(0)}, spatial_axes(c)));
}

void import_global_lp_pool(ImportContext& c) {
  const int64_t p = c.attr_int("p", 2);
  const ValueId x = c.in(0);
  if (p == 1 || p == 2) {
    c.out(0, c.call(p == 1 ? "reduce_l1" : "reduce_l2", {x}, spatial_axes(c)));
    return;
  }
  const auto exponent = static_cast<double>(p);
  const ValueId power = c.call("pow", {c.call("abs", {x}), c.scalar_like(x, exponent)});
  const ValueId sum = c.call("reduce_sum", {power}, spatial_axes(c));
  c.out(0, c.call("pow", {sum, c.scalar_like(sum, 1 / exponent)}));
}

}  // namespace symtile::onnx_import
