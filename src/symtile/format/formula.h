// Dimension formulas as the runtime sees them: stack code over numbered int64 slots.
//
// A slot is a symbol of the function (or kernel) that the formula belongs to. Arithmetic is exact:
// overflow and division by zero are errors, never a wrap; division rounds to minus infinity.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace symtile::format {

/// Calls f("name", field) for every field; writing, reading, validating and printing derive from
/// it.
#define SYMTILE_FORMAT_FIELDS(...)        \
  template <typename Self, typename F>    \
  static void fields(Self& self, F&& f) { \
    __VA_ARGS__                           \
  }

enum class FormulaCode : uint8_t { constant, slot, add, sub, mul, floordiv, floormod, min, max };
inline constexpr uint64_t kNumFormulaCodes = 9;

struct FormulaStep {
  FormulaCode code = FormulaCode::constant;
  int64_t operand = 0;  ///< the constant, or the number of the slot; else 0
  SYMTILE_FORMAT_FIELDS(f("code", self.code); f("operand", self.operand);)
  friend bool operator==(const FormulaStep&, const FormulaStep&) = default;
};

struct Formula {
  std::vector<FormulaStep> steps;  ///< postfix order; leaves exactly one value
  std::string text;                ///< for people: "4*n + 1"
  SYMTILE_FORMAT_FIELDS(f("steps", self.steps); f("text", self.text);)
  friend bool operator==(const Formula&, const Formula&) = default;

  static Formula of_constant(int64_t value);
  static Formula of_slot(uint32_t slot, std::string name);
};

/// No formula needs a deeper stack.
inline constexpr size_t kMaxFormulaDepth = 128;

/// One more than the highest slot that the formula reads. Throws UserError when the code is not
/// well formed (stack underflow, too deep, not exactly one result).
uint32_t check_formula(const Formula& formula);

/// Value of a well-formed formula; throws UserError with the text of the formula on overflow or
/// division by zero.
int64_t evaluate(const Formula& formula, std::span<const int64_t> slots);

}  // namespace symtile::format
