// cumsum(x; axis, exclusive, reverse): running sums along an axis.
#include "symtile/op/index/cumulative.h"

namespace symtile {

extern const OpRecord cumsum_op;
const OpRecord cumsum_op = {
    .name = "cumsum",
    .min_args = 1,
    .max_args = 1,
    .attrs = cumulative_attrs(),
    .deduce = deduce_cumulative,
    .evaluate = [](EvalContext& c) { evaluate_cumulative(c, Running::sum); },
    .lower = [](LowerContext& c) { lower_cumulative(c, Running::sum); },
    .samples = cumulative_samples,
};

}  // namespace symtile
