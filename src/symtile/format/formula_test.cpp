#include "symtile/format/formula.h"

#include <gtest/gtest.h>

#include <limits>

#include "symtile/base/check.h"
#include "symtile/format/test_builder.h"

namespace symtile::format {
namespace {

int64_t eval(const std::string& postfix, std::vector<int64_t> slots = {}) {
  const Formula f = testing::ProgramBuilder::parse(postfix, {"n", "m"});
  check_formula(f);
  return evaluate(f, slots);
}

std::string error_of(const std::string& postfix, std::vector<int64_t> slots = {}) {
  try {
    eval(postfix, std::move(slots));
  } catch (const UserError& e) {
    return e.what();
  }
  return {};
}

TEST(Formula, Arithmetic) {
  EXPECT_EQ(eval("5"), 5);
  EXPECT_EQ(eval("n 4 * m +", {3, 5}), 17);
  EXPECT_EQ(eval("n m min n m max -", {3, 5}), -2);
}

TEST(Formula, DivisionRoundsToMinusInfinity) {
  EXPECT_EQ(eval("-7 2 //"), -4);
  EXPECT_EQ(eval("-7 2 %"), 1);
  EXPECT_EQ(eval("7 -2 //"), -4);
  EXPECT_EQ(eval("7 -2 %"), -1);
  EXPECT_EQ(eval("-8 -1 //"), 8);
  EXPECT_EQ(eval("-8 -1 %"), 0);
}

TEST(Formula, OverflowAndDivisionByZeroAreErrors) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error_of("n 1 +", {big}), "error[dimension_overflow]: 'n 1 +' does not fit in 64 bits");
  EXPECT_NE(error_of("n 2 *", {big}), "");
  EXPECT_NE(error_of("n m -", {-2, big}), "");
  EXPECT_NE(error_of("n -1 //", {std::numeric_limits<int64_t>::min()}), "");
  EXPECT_EQ(error_of("n m //", {1, 0}), "error[bad_input]: 'n m //' divides by zero");
  EXPECT_NE(error_of("n m %", {1, 0}), "");
}

TEST(Formula, IllFormedCodeIsRefused) {
  const FormulaStep one{FormulaCode::constant, 1};
  const FormulaStep add{FormulaCode::add, 0};
  EXPECT_THROW(check_formula({{}, "nothing"}), UserError);
  EXPECT_THROW(check_formula({{one, one}, "two values"}), UserError);
  EXPECT_THROW(check_formula({{one, add}, "one operand"}), UserError);
  EXPECT_THROW(check_formula({{{FormulaCode::slot, -1}}, "bad slot"}), UserError);
  EXPECT_THROW(check_formula({std::vector<FormulaStep>(kMaxFormulaDepth + 1, one), "deep"}),
               UserError);
  EXPECT_EQ(check_formula({{{FormulaCode::slot, 7}}, "slot"}), 8u);
}

}  // namespace
}  // namespace symtile::format
