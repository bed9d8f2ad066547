// cumprod(x; axis, exclusive, reverse): running products along an axis.
#include "symtile/op/index/cumulative.h"

namespace symtile {

extern const OpRecord cumprod_op;
const OpRecord cumprod_op = {
    .name = "cumprod",
    .min_args = 1,
    .max_args = 1,
    .attrs = cumulative_attrs(),
    .deduce = deduce_cumulative,
    .evaluate = [](EvalContext& c) { evaluate_cumulative(c, Running::product); },
    .lower = [](LowerContext& c) { lower_cumulative(c, Running::product); },
    .samples = cumulative_samples,
};

}  // namespace symtile
