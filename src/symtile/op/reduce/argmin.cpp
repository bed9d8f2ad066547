// Position of the smallest element along one axis.
#include "symtile/op/reduce/arg_best.h"

namespace symtile {

extern const OpRecord argmin_op;
const OpRecord argmin_op = {
    .name = "argmin",
    .min_args = 1,
    .max_args = 1,
    .attrs = arg_best_attrs(),
    .deduce = deduce_arg_best,
    .evaluate = [](EvalContext& c) { evaluate_arg_best(c, Best::smallest); },
    .lower = [](LowerContext& c) { lower_arg_best(c, Best::smallest); },
    .samples = arg_best_samples,
};

}  // namespace symtile
