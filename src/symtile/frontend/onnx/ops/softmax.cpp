// Softmax, LogSoftmax and Hardmax. Before opset 13 the input is taken for a matrix whose rows begin
// at `axis` (default 1); from then on one axis (default -1) is normalised.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

const char* core_name(const std::string& op) {
  return op == "Softmax" ? "softmax" : op == "LogSoftmax" ? "log_softmax" : "hardmax";
}

}  // namespace

void import_softmax(ImportContext& c) {
  const char* op = core_name(c.op_type());
  if (c.opset() >= 13) {
    c.out(0, c.call(op, {c.in(0)}, {{"axis", c.attr_int("axis", -1)}}));
    return;
  }
  const int rank = c.rank(0);
  const int axis = c.normalize_axis(c.attr_int("axis", 1), rank);
  if (axis == rank - 1) {
    c.out(0, c.call(op, {c.in(0)}, {{"axis", int64_t{axis}}}));
    return;
  }
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims dims = *c.build().type(x).dims;
  const Dims rows(dims.begin(), dims.begin() + axis), columns(dims.begin() + axis, dims.end());
  const ValueId matrix = c.reshape(x, {product(rows), product(columns)});
  c.out(0, c.reshape(c.call(op, {matrix}, {{"axis", int64_t{1}}}), dims));
}

}  // namespace symtile::onnx_import
