// Runs folders of ONNX test cases and counts, operator by operator, what passes.
#pragma once

#include <functional>
#include <map>

#include "symtile/driver/child_pool.h"
#include "symtile/driver/onnx_case.h"

namespace symtile {

struct ConformOptions {
  std::string filter = "*";  ///< a shell pattern over the names of cases
  int every = 1;             ///< of those, in order of their names, each that comes n-th
  ChildLimits limits;
  CaseOptions cases;
  /// After every case: the result, how many are done and how many there are.
  std::function<void(const CaseResult&, size_t done, size_t total)> progress;
};

struct OperatorCounts {
  int passed = 0;
  int failed = 0;  ///< wrong, error, crashed
  int unsupported = 0;
};

struct ConformReport {
  std::vector<CaseResult> cases;  ///< by name
  int count(CaseStatus status) const;
  int failed() const;
  /// A case counts for every operator of its model.
  std::map<std::string, OperatorCounts> by_operator() const;
};

/// `folder` is one case or holds cases, at any depth. Every case runs in a process of its own, so
/// the caller must not have started threads. Throws UserError when no case matches,
/// EnvironmentError when there is no such device.
ConformReport conform(const std::filesystem::path& folder, const ConformOptions& options);

/// `why_no_device` asked in a child process: drivers start threads, and whoever asks is to fork.
std::string why_no_device_in_child(const std::string& device, const ChildLimits& limits = {});

}  // namespace symtile
