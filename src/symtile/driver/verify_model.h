// Does the compiled program compute what the model says? And if not, who is to blame.
//
// The interpreter runs the module as imported; its outputs are right by definition. When those of
// the compiled program differ, the search goes down: the first pass after which the interpreter's
// outputs differ and the first value that does; if every pass is innocent, the first kernel whose
// code, alone and on the interpreter's operands, computes something else than its tile function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "symtile/driver/driver.h"

namespace symtile {

struct OutputCheck {
  std::string name;
  double max_error = 0;
  std::string mismatch;  ///< empty: it agrees
};

struct VerifyReport {
  std::vector<OutputCheck> outputs;
  std::string pass;    ///< the pass to blame; empty: none
  std::string kernel;  ///< the kernel to blame; empty: none
  std::string value;   ///< the first value that differs
  std::string detail;  ///< how, and where in the model it comes from
  bool agree() const;
};

struct VerifyOptions {
  CompileOptions compile;
  int threads = 0;
  std::string device = "cpu";
  /// What is going on, for a person who waits.
  std::function<void(const std::string&)> progress;
};

/// `program` is `module`, compiled.
VerifyReport verify_model(const Module& module, const api::Model& program,
                          const std::vector<Constant>& inputs, const VerifyOptions& options);

}  // namespace symtile
