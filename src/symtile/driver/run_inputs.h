// Inputs for a run from what the command line says: values of dimensions, shapes, files, numbers;
// what is left is random, the same for the same seed.
#pragma once

#include <string>
#include <vector>

#include "symtile/ir/constant.h"
#include "symtile/shape/dim_expr.h"
#include "symtile/symtile.hpp"

namespace symtile {

struct InputSpec {
  /// "NAME=VALUE" for a dimension (its symbol, or the name it has in the model file), or
  /// "INPUT=AxBxC" for the whole shape of an input ("INPUT=" is a scalar).
  std::vector<std::string> dims;
  std::vector<std::string> files;  ///< "INPUT=FILE.npy"
  std::vector<std::string> fills;  ///< "INPUT=NUMBER": every element
  uint64_t seed = 1;
};

struct RunInputs {
  DimValues symbols;
  std::vector<Constant> values;  ///< in the order of the model's inputs
};

/// Throws UserError for a name that the model does not have and for dimensions that nothing gives,
/// with a list of what there is. Floats are in [-1, 1), integers small and not negative, bools
/// either.
RunInputs make_run_inputs(const api::Model& model, const InputSpec& spec);

/// Values of symbols alone, "NAME=VALUE" each; names as in InputSpec::dims.
DimValues parse_dim_values(const std::vector<std::string>& symbols,
                           const std::vector<std::string>& texts);

}  // namespace symtile
