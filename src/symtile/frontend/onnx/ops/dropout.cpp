// Dropout in inference: the input itself, and a mask that keeps everything.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

/// Whether nothing is dropped: not training (opset 12: input 2), or a ratio (input 1) of 0.
bool drops_nothing(ImportContext& c) {
  if (c.opset() < 12 || !c.has(2)) return true;
  const Constant training = c.constant(2);
  if (training && training->element_count() == 1 && training->as_int(0) == 0) return true;
  const Constant ratio = c.has(1) ? c.constant(1) : nullptr;
  return ratio && ratio->element_count() == 1 && ratio->as_double(0) == 0;
}

}  // namespace

void import_dropout(ImportContext& c) {
  if (!drops_nothing(c)) {
    c.fail(DiagId::unsupported,
           "dropout in training: 'training_mode' must be constant false, or 'ratio' constant 0");
  }
  const ValueId x = c.in(0);
  c.out(0, x);
  if (!c.wants(1)) return;
  const Type& type = c.build().type(with_known_dims(c, x));
  const DType dtype = c.opset() < 10 ? type.dtype : DType::boolean;
  c.out(1, c.call("full", {}, {{"dtype", dtype}, {"shape", *type.dims}, {"value", 1.0}}));
}

}  // namespace symtile::onnx_import
