// When two kernels may become one: rules over their bodies, never over operators.
//
// An *epilogue* is evaluated where the anchor's result is stored, so each element of that result
// must be wanted exactly once. A *prologue* is evaluated where the anchor loads, so its work must
// not be repeated too often. Every rule answers with the reason when it refuses.
#pragma once

#include <optional>

#include "symtile/transform/tile/access.h"

namespace symtile {

/// nullopt: allowed. Otherwise why not, in words.
using Refusal = std::optional<std::string>;

/// Arithmetic per element, index arithmetic and loads aside: 1 an operation, 16 an exponential and
/// the like. 0: the kernel only moves elements.
int64_t evaluation_cost(const Expr& value);

/// Every element of `stage` reads one element of the buffers, all its loads the same one, and no
/// element is read for two of them: a permutation, a slice, or the identity.
bool reads_one_to_one(const ComputeStmt& stage, const std::vector<std::string>& buffers);

/// May `consumer` be an epilogue that reads `buffers`, results of the kernel so far?
/// `moving`: a permutation or slice of the elements is fine (one consumer, one stage).
Refusal refuse_epilogue(const TileFunction& consumer, const std::vector<std::string>& buffers,
                        bool moving);

/// May the injective `producer` be evaluated where `consumer` loads `buffers`?
Refusal refuse_prologue(const TileFunction& producer, const TileFunction& consumer,
                        const std::vector<std::string>& buffers);

/// Is `merged`, made around `anchor` (its exit where nothing is reduced), as good a kernel? It must
/// be as parallel, a product must still be one, what its operands cost in all must be little, and
/// its results must be made point by point.
Refusal refuse_merged(const TileFunction& anchor, const TileFunction& merged);

/// May an epilogue permute the result of `anchor`? The rows of several stages must stay rows.
bool may_move(const TileFunction& anchor);

/// May the injective `producer` be evaluated again in each of its readers? It must be cheaper than
/// storing and loading its result.
bool cheap_to_repeat(const TileFunction& producer);

}  // namespace symtile
