#include "symtile/format/formula.h"

#include <algorithm>
#include <array>

#include "symtile/base/check.h"

namespace symtile::format {
namespace {

[[noreturn]] void overflow(const Formula& f) {
  throw UserError(fmt::format("error[dimension_overflow]: '{}' does not fit in 64 bits", f.text));
}

int64_t floor_divide(const Formula& f, int64_t a, int64_t b) {
  if (b == 0) throw UserError(fmt::format("error[bad_input]: '{}' divides by zero", f.text));
  if (b == -1) {
    int64_t negated;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) overflow(f);
    return negated;
  }
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

int64_t floor_modulo(const Formula& f, int64_t a, int64_t b) {
  if (b == 0) throw UserError(fmt::format("error[bad_input]: '{}' divides by zero", f.text));
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

int64_t apply(const Formula& f, FormulaCode code, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (code) {
    case FormulaCode::add:
      if (__builtin_add_overflow(a, b, &out)) overflow(f);
      return out;
    case FormulaCode::sub:
      if (__builtin_sub_overflow(a, b, &out)) overflow(f);
      return out;
    case FormulaCode::mul:
      if (__builtin_mul_overflow(a, b, &out)) overflow(f);
      return out;
    case FormulaCode::floordiv:
      return floor_divide(f, a, b);
    case FormulaCode::floormod:
      return floor_modulo(f, a, b);
    case FormulaCode::min:
      return std::min(a, b);
    case FormulaCode::max:
      return std::max(a, b);
    case FormulaCode::constant:
    case FormulaCode::slot:
      break;
  }
  SYMTILE_UNREACHABLE();
}

}  // namespace

Formula Formula::of_constant(int64_t value) {
  return {{{FormulaCode::constant, value}}, std::to_string(value)};
}

Formula Formula::of_slot(uint32_t slot, std::string name) {
  return {{{FormulaCode::slot, slot}}, std::move(name)};
}

uint32_t check_formula(const Formula& formula) {
  size_t depth = 0;
  uint32_t slots = 0;
  const auto require = [&](bool ok, const char* what) {
    if (!ok) throw UserError(fmt::format("formula '{}' {}", formula.text, what));
  };
  for (const FormulaStep& step : formula.steps) {
    if (step.code == FormulaCode::constant || step.code == FormulaCode::slot) {
      require(++depth <= kMaxFormulaDepth, "is nested too deeply");
      if (step.code == FormulaCode::constant) continue;
      require(step.operand >= 0 && step.operand < int64_t{1} << 31, "names an impossible slot");
      slots = std::max(slots, static_cast<uint32_t>(step.operand) + 1);
    } else {
      require(depth >= 2, "lacks an operand");
      --depth;
    }
  }
  require(depth == 1, "has not exactly one value");
  return slots;
}

int64_t evaluate(const Formula& formula, std::span<const int64_t> slots) {
  if (formula.steps.size() == 1) {
    const FormulaStep& step = formula.steps.front();
    return step.code == FormulaCode::constant ? step.operand
                                              : slots[static_cast<size_t>(step.operand)];
  }
  std::array<int64_t, kMaxFormulaDepth> stack;
  size_t top = 0;
  for (const FormulaStep& step : formula.steps) {
    if (step.code == FormulaCode::constant) {
      stack[top++] = step.operand;
    } else if (step.code == FormulaCode::slot) {
      stack[top++] = slots[static_cast<size_t>(step.operand)];
    } else {
      --top;
      stack[top - 1] = apply(formula, step.code, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

}  // namespace symtile::format
