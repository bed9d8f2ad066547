// The cases of one model below test/model/golden: inputs made by formula, and what ONNX Runtime
// computed from them. Written by scripts/make_goldens.py; the formulas are those of
// scripts/model_cases.py, bit by bit.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "symtile/ir/constant.h"

namespace symtile::test {

inline constexpr double kRtol = 1e-3;
inline constexpr double kAtol = 1e-4;

struct GoldenOutput {
  std::string name;
  std::vector<int64_t> dims;
  Constant values;     ///< the whole output, or the elements at `positions`
  Constant positions;  ///< null: the whole output
  double atol = kAtol;
};

struct GoldenCase {
  std::string name;
  int frames = 1;
  bool fails = false;                        ///< the model cannot be run at this shape
  std::map<std::string, std::string> carry;  ///< output -> the input that takes it over
  nlohmann::json inputs;
  std::vector<GoldenOutput> outputs;
};

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& folder);
std::vector<GoldenOutput> read_golden_outputs(const std::filesystem::path& folder,
                                              const nlohmann::json& outputs);
nlohmann::json read_json(const std::filesystem::path& file);

/// The input that `spec` describes.
Constant make_input(const nlohmann::json& spec, int frame);

struct Comparison {
  double max_error = 0;     ///< absolute
  double of_tolerance = 0;  ///< greatest error divided by what is allowed there
  std::string mismatch;     ///< dims or NaNs that differ; "" when only numbers do
  bool passed() const { return mismatch.empty() && of_tolerance <= 1; }
};
Comparison compare(const GoldenOutput& expected, const Constant& actual);

}  // namespace symtile::test
