// Dimension formulas shared by the importers of shape operators.
#pragma once

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

/// `x` with every dimension a formula: unknown ones are bound to fresh symbols at run time. The
/// rank must be known, else an `unsupported` diagnostic.
ValueId with_known_dims(ImportContext& c, ValueId x);

/// product(whole) // product(part), with equal factors cancelled first: (b, s, 768) by (b, 12)
/// gives 64 * s. Where the cancelled factors are 0, so are both products and any quotient is right.
DimExpr quotient(const Dims& whole, const Dims& part, const Facts& facts);

/// 1 when x >= 1, 0 when x <= 0.
DimExpr is_positive(const DimExpr& x);

/// Gives the dimensions of `value` that are not simple (formulas of numbers read at run time) fresh
/// symbols, so that what follows computes with plain symbols.
ValueId name_dims(ImportContext& c, ValueId value, const std::vector<bool>& which,
                  const char* hint);

/// c.require_dims, each simplified with the facts.
Dims require_simple_dims(ImportContext& c, int i);

}  // namespace symtile::onnx_import
