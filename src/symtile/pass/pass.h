// What a pass is, and the manager that runs a list of them.
//
// A pass is one file `void name(Module&, PassContext&)` and one line in transform/passes.def; it
// has no header. The manager times every pass, verifies the module after it when asked (always in
// debug builds), and hands the module to `after` for dumps. A failing verification names the pass.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "symtile/base/check.h"
#include "symtile/ir/module.h"

namespace symtile {

struct FusionReport;

/// Shared by the passes of one compilation.
struct PassContext {
  /// Operator schema check for the verifier (op/ supplies it; empty: structure only).
  OpChecker check_ops;
  /// "--explain": one line for each decision, e.g. why two kernels were not fused.
  std::vector<std::string>* explain = nullptr;
  /// What the fuse pass did, when somebody wants to see it.
  FusionReport* fusion = nullptr;

  template <typename... A>
  void note(fmt::format_string<A...> format, A&&... args) const {
    if (explain) explain->push_back(fmt::format(format, std::forward<A>(args)...));
  }
};

using PassFunction = void (*)(Module&, PassContext&);

struct PassRecord {
  const char* name;
  const char* level;    ///< "graph", "tile" or "module"
  const char* summary;  ///< one line for listings
  PassFunction run;
};

struct PassTiming {
  std::string name;
  double seconds;
};

class PassManager {
 public:
  PassManager(std::vector<const PassRecord*> passes, PassContext& context)
      : passes_(std::move(passes)), context_(context) {}

  /// Called after every pass with its record and the module.
  std::function<void(const PassRecord&, const Module&)> after;
#ifdef NDEBUG
  bool verify_each = false;
#else
  bool verify_each = true;
#endif

  void run(Module& module);
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  std::vector<const PassRecord*> passes_;
  PassContext& context_;
  std::vector<PassTiming> timings_;
};

}  // namespace symtile
