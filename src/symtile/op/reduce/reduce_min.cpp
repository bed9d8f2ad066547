// The smallest element over axes.
#include "symtile/op/reduce/extreme.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

extern const OpRecord reduce_min_op;
const OpRecord reduce_min_op = {
    .name = "reduce_min",
    .min_args = 1,
    .max_args = 1,
    .attrs = reduction_attrs(),
    .deduce = deduce_extreme,
    .evaluate = [](EvalContext& c) { evaluate_extreme(c, Extreme::smallest); },
    .lower = [](LowerContext& c) { lower_extreme(c, Extreme::smallest); },
    .samples = extreme_samples,
};

}  // namespace symtile
