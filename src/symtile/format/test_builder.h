// For tests: programs written by hand, a few calls an instruction.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "symtile/format/artifact.h"

namespace symtile::format::testing {

/// Postfix text over the slots of the function being built: builder.f("n 4 *").
class ProgramBuilder {
 public:
  Program program;

  /// Starts a function; formulas until the next call are over these slots.
  Function& function(const std::string& name, std::vector<std::string> slots, uint32_t params,
                     uint32_t results, uint32_t registers, uint32_t dim_params = 0) {
    program.functions.push_back(
        {name, params, dim_params, results, registers, std::move(slots), {}});
    program.entry = {static_cast<uint32_t>(program.functions.size() - 1)};
    return program.functions.back();
  }
  Function& current() { return program.functions.back(); }

  template <typename Op>
  ProgramBuilder& add(Op op) {
    current().code.push_back(std::move(op));
    return *this;
  }

  FormulaId f(const std::string& postfix) {
    program.formulas.push_back(parse(postfix, current().slot_names));
    return {static_cast<uint32_t>(program.formulas.size() - 1)};
  }
  std::vector<FormulaId> fs(const std::vector<std::string>& list) {
    std::vector<FormulaId> out;
    for (const auto& text : list) out.push_back(f(text));
    return out;
  }
  ShapeId shape(const std::vector<std::string>& dims, DType dtype = DType::f32) {
    program.shapes.push_back({dtype, fs(dims)});
    return {static_cast<uint32_t>(program.shapes.size() - 1)};
  }
  KernelId kernel(const std::string& name, uint32_t buffers, uint32_t symbols) {
    program.kernels.push_back({name, buffers, symbols});
    return {static_cast<uint32_t>(program.kernels.size() - 1)};
  }
  FunctionId last() const { return {static_cast<uint32_t>(program.functions.size() - 1)}; }
  DimRule bind(uint32_t slot) { return {DimRule::Kind::bind, {slot}, {}}; }
  DimRule check(const std::string& postfix) {
    return {DimRule::Kind::check, {}, {f(postfix).value}};
  }
  EntryValue value(const std::string& name, const std::vector<std::string>& dims,
                   DType dtype = DType::f32) {
    EntryValue v{name, dtype, true, {}};
    for (const auto& d : dims) {
      if (d == "?") {
        v.dims.push_back({"?", {}});
      } else {
        const FormulaId id = f(d);
        v.dims.push_back({program.formulas[id.value].text, {id.value}});
      }
    }
    return v;
  }

  static Formula parse(const std::string& postfix, const std::vector<std::string>& slots) {
    Formula formula;
    formula.text = postfix;
    std::string word;
    for (size_t i = 0; i <= postfix.size(); ++i) {
      if (i < postfix.size() && postfix[i] != ' ') {
        word += postfix[i];
        continue;
      }
      formula.steps.push_back(step(word, slots));
      word.clear();
    }
    return formula;
  }

 private:
  static FormulaStep step(const std::string& word, const std::vector<std::string>& slots) {
    const std::vector<std::string> operators = {"+", "-", "*", "//", "%", "min", "max"};
    for (size_t i = 0; i < operators.size(); ++i) {
      if (word == operators[i]) return {static_cast<FormulaCode>(i + 2), 0};
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      if (word == slots[i]) return {FormulaCode::slot, static_cast<int64_t>(i)};
    }
    return {FormulaCode::constant, std::stoll(word)};
  }
};

}  // namespace symtile::format::testing
