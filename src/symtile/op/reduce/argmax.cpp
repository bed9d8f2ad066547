// Position of the largest element along one axis.
#include "symtile/op/reduce/arg_best.h"

namespace symtile {

extern const OpRecord argmax_op;
const OpRecord argmax_op = {
    .name = "argmax",
    .min_args = 1,
    .max_args = 1,
    .attrs = arg_best_attrs(),
    .deduce = deduce_arg_best,
    .evaluate = [](EvalContext& c) { evaluate_arg_best(c, Best::largest); },
    .lower = [](LowerContext& c) { lower_arg_best(c, Best::largest); },
    .samples = arg_best_samples,
};

}  // namespace symtile
