// Tasks that may crash or hang: each runs in a forked child of its own, a few at a time.
//
// Forking copies only the calling thread, so the caller must not have started any; the children
// may. Nothing that a child does reaches the parent except its result.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace symtile {

struct ChildOutcome {
  std::string result;  ///< what the task returned
  std::string death;   ///< empty: it returned; else "killed by signal 11 (Segmentation fault)", ...
  double seconds = 0;
};

struct ChildLimits {
  int jobs = 1;
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
};

/// Runs task(0) .. task(count - 1) and hands each outcome to `done`, in the order in which they
/// end. Throws EnvironmentError when the system gives no more processes.
void run_in_children(size_t count, const ChildLimits& limits,
                     const std::function<std::string(size_t)>& task,
                     const std::function<void(size_t, const ChildOutcome&)>& done);

}  // namespace symtile
