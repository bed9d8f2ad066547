// Recognises a sort in a compute form, by its first two stages (op/index/sort_order.h):
//
//   ranks[p.., i]     = sum over j of 1 where element j stands before element i
//   positions[p.., q] = sum over i of i where ranks[p.., i] is q
//
// The sorted axis may stand anywhere among p. What follows are ordinary stages that read positions.
#pragma once

#include "symtile/transform/tile/access.h"

namespace symtile {

struct Sorting {
  size_t axis = 0;  ///< of both stages' axes: the one that is sorted
  DimExpr n;        ///< elements of a line
  DimExpr k;        ///< how many of them are wanted
  bool largest = true;
};
std::optional<Sorting> match_sorting(const ComputeForm& form);

/// The element at position `at`, from the value of the first stage, however its loads are indexed.
Expr sorted_element(const Expr& ranks, const Expr& at);

}  // namespace symtile
