// A memory formula that fits on a line. The exact one is a maximum over all blocks that are ever
// alive together, kilobytes of text for a large model; people want to know what it grows with.
#pragma once

#include <string>

#include "symtile/shape/dim_expr.h"

namespace symtile {

/// A polynomial in the symbols that is nowhere below `bytes`: roundings become fractions, a maximum
/// becomes the larger coefficient of each product of symbols, what is subtracted is dropped.
/// For sizes only: symbols, and operands of products and quotients, are taken to be >= 0.
DimExpr polynomial_bound(const DimExpr& bytes);

/// `bytes` itself when it is short, else "at most <polynomial_bound>".
std::string short_formula(const DimExpr& bytes);

}  // namespace symtile
