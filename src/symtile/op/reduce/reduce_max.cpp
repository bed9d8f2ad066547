// The largest element over axes.
#include "symtile/op/reduce/extreme.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

extern const OpRecord reduce_max_op;
const OpRecord reduce_max_op = {
    .name = "reduce_max",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_extreme,
    .evaluate = [](EvalContext& c) { evaluate_extreme(c, Extreme::largest); },
    .lower = [](LowerContext& c) { lower_extreme(c, Extreme::largest); },
    .samples = extreme_samples,
};

}  // namespace symtile
