// The oracle: runs a whole module, any mix of the three kinds of function, in double precision.
//
// Operators run their reference meaning (op/), tile functions their bodies, library calls the
// reference meaning of the operator of the same name. It knows nothing of placements.
#pragma once

#include <functional>

#include "symtile/ir/module.h"
#include "symtile/op/ref_tensor.h"

namespace symtile {

class Interpreter {
 public:
  explicit Interpreter(const Module& module) : module_(module) {}

  /// Called for every value of `main` as it is computed (not of called functions).
  std::function<void(const GraphFunction&, const Binding&, const RefTensor&)> on_value;

  /// Runs `main`. Wrong inputs are bad_input diagnostics, as in the runtime.
  std::vector<RefTensor> run(const std::vector<RefTensor>& inputs) const;

 private:
  const Module& module_;
};

}  // namespace symtile
