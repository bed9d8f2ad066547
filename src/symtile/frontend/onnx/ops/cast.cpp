// Cast and CastLike: conversion to a dtype given as a number or by another tensor.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_cast(ImportContext& c) {
  if (!c.has_attr("to")) c.fail(DiagId::bad_attribute, "attribute 'to' is missing");
  c.out(0, c.cast(c.in(0), c.attr_dtype("to", DType::f32)));
}

void import_cast_like(ImportContext& c) { c.out(0, c.cast(c.in(0), c.dtype(1))); }

}  // namespace symtile::onnx_import
