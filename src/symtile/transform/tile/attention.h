// Recognises softmax(scores) V in a compute form, by its four stages:
//
//   scores[p.., j] = f(sum over d of Q[p.., d] * K[p.., j, d])
//   largest[p..]   = max over j of scores
//   total[p..]     = sum over j of exp(scores - largest)
//   out[p.., e]    = g(sum over j of exp(scores - largest) / total * V[p.., j, e])
//
// f (scale, mask, choice) and g are any expressions.
// Neither the operator nor the order of the axes p matters: what K and V do not depend on are the
// rows.
#pragma once

#include "symtile/transform/tile/access.h"

namespace symtile {

struct Attention {
  std::vector<Axis> batch;  ///< of `out`: axes for which K or V differ, and any further ones
  std::optional<Axis> row;  ///< of `out`; none when its extent is 1
  std::optional<Axis>
      column;               ///< of `out`, over the elements of a value; none when the extent is 1
  Axis key;                 ///< its variable is the one in `score`, `key_operand`, `value`
  Axis depth;               ///< the reduction of a score
  Expr query, key_operand;  ///< operands of the product in `scores`, over batch, row, key and depth
  Expr product;             ///< the ReduceExpr inside `score`
  Expr score;               ///< value of the first stage
  Expr value;               ///< V over batch, key and column
  Expr weighted;            ///< the ReduceExpr inside `result`
  Expr result;              ///< value of the last stage
  /// Where 0 stands for the weighted sum: nowhere, where `total` is NaN, where `largest` is -inf.
  enum class Zero { never, without_sum, without_keys } zero = Zero::never;
  /// Keys are visible up to row + causal, included; the others take no part. None: all are.
  std::optional<Expr> causal;
};

/// The stages of `form` (squeezed, or flattened for a schedule), in terms of the last stage's axes.
std::optional<Attention> match_attention(const ComputeForm& form);

}  // namespace symtile
