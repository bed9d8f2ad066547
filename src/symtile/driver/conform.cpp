#include "symtile/driver/conform.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "symtile/base/check.h"
#include "symtile/runtime/device.h"

namespace symtile {
namespace {

using Path = std::filesystem::path;

std::vector<Path> find_cases(const Path& folder, const std::string& filter) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw EnvironmentError(fmt::format("'{}' is no folder of test cases", folder.string()));
  }
  std::vector<Path> out;
  const auto matches = [&](const Path& p) {
    return fnmatch(filter.c_str(), p.filename().c_str(), 0) == 0;
  };
  const Path whole = std::filesystem::canonical(folder);
  if (is_onnx_case(whole)) {
    out.push_back(whole);
  } else {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(whole)) {
      if (entry.is_directory() && is_onnx_case(entry) && matches(entry)) out.push_back(entry);
    }
  }
  if (out.empty()) {
    throw UserError(
        fmt::format("error: there is no test case (a folder with a model.onnx) in '{}'"
                    " whose name matches '{}'",
                    folder.string(), filter));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string to_text(const CaseResult& r) {
  const nlohmann::json json{{"status", r.status}, {"detail", r.detail}, {"fixed", r.inputs_fixed}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CaseResult from_outcome(const Path& folder, const ChildOutcome& outcome) {
  CaseResult r;
  r.name = folder.filename().string();
  r.operators = operators_of_case(folder);
  r.seconds = outcome.seconds;
  const auto json = nlohmann::json::parse(outcome.result, nullptr, false);
  if (!outcome.death.empty() || json.is_discarded()) {
    r.status = CaseStatus::crashed;
    r.detail = outcome.death.empty() ? "ended without a result" : outcome.death;
  } else {
    r.status = json.at("status").get<CaseStatus>();
    r.detail = json.at("detail").get<std::string>();
    r.inputs_fixed = json.at("fixed").get<bool>();
  }
  return r;
}

}  // namespace

std::string why_no_device_in_child(const std::string& device, const ChildLimits& limits) {
  std::string reason;
  run_in_children(
      1, limits, [&](size_t) { return why_no_device(device); },
      [&](size_t, const ChildOutcome& outcome) {
        reason = outcome.death.empty() ? outcome.result : outcome.death;
      });
  return reason;
}

int ConformReport::count(CaseStatus status) const {
  return static_cast<int>(std::count_if(cases.begin(), cases.end(),
                                        [&](const CaseResult& c) { return c.status == status; }));
}

int ConformReport::failed() const {
  return static_cast<int>(cases.size()) - count(CaseStatus::passed) -
         count(CaseStatus::unsupported);
}

std::map<std::string, OperatorCounts> ConformReport::by_operator() const {
  std::map<std::string, OperatorCounts> out;
  for (const CaseResult& c : cases) {
    for (const std::string& op : c.operators) {
      OperatorCounts& counts = out[op];
      const bool unsupported = c.status == CaseStatus::unsupported;
      ++(c.status == CaseStatus::passed ? counts.passed
         : unsupported                  ? counts.unsupported
                                        : counts.failed);
    }
  }
  return out;
}

ConformReport conform(const Path& folder, const ConformOptions& options) {
  const std::vector<Path> found = find_cases(folder, options.filter);
  std::vector<Path> folders;
  for (size_t i = 0; i < found.size(); i += static_cast<size_t>(std::max(options.every, 1))) {
    folders.push_back(found[i]);
  }
  if (const std::string& device = options.cases.device; device != "cpu") {
    const std::string reason = why_no_device_in_child(device, options.limits);
    if (!reason.empty()) throw EnvironmentError(reason);
  }
  ConformReport report;
  report.cases.resize(folders.size());
  size_t finished = 0;
  run_in_children(
      folders.size(), options.limits,
      [&](size_t i) { return to_text(run_onnx_case(folders[i], options.cases)); },
      [&](size_t i, const ChildOutcome& outcome) {
        report.cases[i] = from_outcome(folders[i], outcome);
        if (options.progress) options.progress(report.cases[i], ++finished, folders.size());
      });
  return report;
}

}  // namespace symtile
