#include "symtile/pass/pass.h"

namespace symtile {

void PassManager::run(Module& module) {
  for (const PassRecord* pass : passes_) {
    const auto start = std::chrono::steady_clock::now();
    pass->run(module, context_);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    timings_.push_back({pass->name, elapsed.count()});
    if (verify_each) {
      try {
        verify(module, context_.check_ops);
      } catch (const UserError& e) {
        // The module was fine before: a pass that breaks it is our bug, not the user's.
        throw InternalError(
            fmt::format("pass '{}' left an invalid module: {}", pass->name, e.what()));
      }
    }
    if (after) after(*pass, module);
  }
}

}  // namespace symtile
