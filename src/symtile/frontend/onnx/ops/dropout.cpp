// Dropout in inference: the input itself, and a mask that keeps everything.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

std::optional<bool> known_truth(const Constant& data) {
  if (!data || data->element_count() != 1) return std::nullopt;
  return data->as_double(0) != 0;
}

/// Rejects training (opset 12: input 2) with a ratio (input 1) other than 0: now when both are
/// constants, else by a check at run time.
void require_nothing_dropped(ImportContext& c) {
  if (c.opset() < 12 || !c.has(2)) return;
  const std::optional<bool> training = known_truth(c.constant(2));
  const std::optional<bool> drops = c.has(1) ? known_truth(c.constant(1)) : true;  // default 1/2
  if (training == false || drops == false) return;
  if (training && drops) {
    c.fail(DiagId::unsupported, "dropout in training: symtile runs models, it does not train them");
  }
  ValueId flag = c.in(2);
  if (!drops) {
    const ValueId ratio = c.in(1);
    flag = c.call("logical_and", {flag, c.call("not_equal", {ratio, c.scalar_like(ratio, 0)})});
  }
  const Dims value = c.build().read_dims(c.cast(flag, DType::i64), 1, "training");
  c.build().check(value[0], 0, "dropout is asked for training, which is not supported");
}

}  // namespace

void import_dropout(ImportContext& c) {
  require_nothing_dropped(c);
  const ValueId x = c.in(0);
  c.out(0, x);
  if (!c.wants(1)) return;
  const Type& type = c.build().type(with_known_dims(c, x));
  const DType dtype = c.opset() < 10 ? type.dtype : DType::boolean;
  c.out(1, c.call("full", {}, {{"dtype", dtype}, {"shape", *type.dims}, {"value", 1.0}}));
}

}  // namespace symtile::onnx_import
