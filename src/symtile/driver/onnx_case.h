// One ONNX test case: a model and data sets of inputs with the outputs that it must give.
//
//   <case>/model.onnx   <case>/test_data_set_<n>/input_<i>.pb and output_<i>.pb
//
// ONNX's node tests pass shapes, axes and the like as run-time inputs, because a test of one node
// has no other place for them. Where the importer needs such a value at compile time, the case is
// compiled again with its scalars and short integer lists as initialisers, as in real models.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace symtile {

enum class CaseStatus : uint8_t {
  passed,
  wrong,        ///< it ran, and the numbers differ
  unsupported,  ///< refused with a diagnostic that says so
  error,        ///< any other error
  crashed,      ///< the process died or ran out of time
};
std::string_view name_of(CaseStatus status);

struct CaseOptions {
  bool reference = false;  ///< the interpreter instead of compiled code
  bool optimize = true;
  std::string device = "cpu";
  bool symbolic = false;  ///< all extents of the inputs but 1 are symbols
};

struct CaseResult {
  std::string name;
  CaseStatus status = CaseStatus::error;
  std::string detail;                  ///< what differs, or the error
  std::vector<std::string> operators;  ///< those of the model, sorted
  bool inputs_fixed = false;           ///< small inputs were made initialisers
  double seconds = 0;
};

/// Whether `folder` holds a case.
bool is_onnx_case(const std::filesystem::path& folder);

/// The operators of the case's model, functions and subgraphs included; none when it is unreadable.
std::vector<std::string> operators_of_case(const std::filesystem::path& folder);

/// Runs all data sets in this process. Never throws for what the case contains.
CaseResult run_onnx_case(const std::filesystem::path& folder, const CaseOptions& options);

}  // namespace symtile
