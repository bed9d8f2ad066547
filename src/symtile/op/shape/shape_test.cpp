// Operators that change shapes, on the cases users of other systems reported.
#include <gtest/gtest.h>

#include <limits>

#include "symtile/op/index/meaning.h"

namespace symtile {
namespace {

using Floats = std::vector<double>;
using Ints = std::vector<int64_t>;
const std::string kReflect = "reflect";

Floats sliced(const RefTensor& x, Dims begin, Dims extent, Ints step) {
  return meaning_of("slice", {x},
                    {{"begin", std::move(begin)},
                     {"extent", std::move(extent)},
                     {"step", std::move(step)}})[0]
      .f;
}

TEST(SliceOp, NegativeSteps) {
  const RefTensor ten = ref_count({10});
  EXPECT_EQ(sliced(ten, {9}, {9}, {-1}), (Floats{9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(sliced(ten, {9}, {3}, {-3}), (Floats{9, 6, 3}));
  EXPECT_EQ(sliced(ref_count({3, 4}), {2, 0}, {2, 4}, {-1, 1}), (Floats{8, 9, 10, 11, 4, 5, 6, 7}));
  EXPECT_EQ(sliced(ref_count({20}), {19}, {7}, {-3}), (Floats{19, 16, 13, 10, 7, 4, 1}));
}

TEST(SliceOp, OutsideIsRefusedOrChecked) {
  const DimExpr n = DimExpr::symbol("n");
  const Attributes attrs = {{"begin", Dims{2}}, {"extent", Dims{4}}, {"step", Ints{1}}};
  EXPECT_THROW(types_of("slice", {Type::tensor({5}, DType::f32)}, attrs), UserError);
  std::vector<DimCheck> checks;
  types_of("slice", {Type::tensor({n}, DType::f32)}, attrs, &checks);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_NE(checks[0].a.evaluate({{"n", 5}}), checks[0].b.evaluate({{"n", 5}}));
  EXPECT_EQ(checks[0].a.evaluate({{"n", 6}}), checks[0].b.evaluate({{"n", 6}}));
  Facts facts;
  facts.bound("n", 6, std::nullopt);
  types_of("slice", {Type::tensor({n}, DType::f32)}, attrs, &checks, facts);
  EXPECT_TRUE(checks.empty());
}

TEST(PadOp, ReflectsAgainWhenLongerThanTheAxis) {
  const RefTensor x = ref_floats({3, 2}, {1, 1.2, 2.3, 3.4, 4.5, 5.7});
  const auto y = meaning_of("pad", {x}, {{"pads", Dims{0, 2, 0, 0}}, {"mode", kReflect}});
  EXPECT_EQ(y[0].f, (Floats{1, 1.2, 1, 1.2, 2.3, 3.4, 2.3, 3.4, 4.5, 5.7, 4.5, 5.7}));
  const auto one =
      meaning_of("pad", {ref_floats({1}, {7})}, {{"pads", Dims{2, 1}}, {"mode", kReflect}});
  EXPECT_EQ(one[0].f, (Floats{7, 7, 7, 7}));
}

TEST(PadOp, NegativePadsCrop) {
  const auto y = meaning_of("pad", {ref_count({5}), ref_floats({}, {9})}, {{"pads", Dims{-2, 1}}});
  EXPECT_EQ(y[0].f, (Floats{2, 3, 4, 9}));
  EXPECT_THROW(types_of("pad", {Type::tensor({2}, DType::f32)}, {{"pads", Dims{-2, -1}}}),
               UserError);
}

TEST(PadOp, AnEmptyAxisHasNothingToRepeat) {
  EXPECT_THROW(
      types_of("pad", {Type::tensor({0}, DType::f32)}, {{"pads", Dims{1, 0}}, {"mode", kReflect}}),
      UserError);
  const auto y = meaning_of("pad", {RefTensor(DType::f32, {0})}, {{"pads", Dims{1, 1}}});
  EXPECT_EQ(y[0].f, (Floats{0, 0}));
}

TEST(TriluOp, InfinityDoesNotBecomeNan) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto y = meaning_of("trilu", {ref_floats({2, 2}, {-inf, -inf, -inf, -inf})},
                            {{"upper", int64_t{1}}, {"k", Dims{1}}});
  EXPECT_EQ(y[0].f, (Floats{0, -inf, 0, 0}));
}

TEST(ReshapeOp, CountsMustAgree) {
  const DimExpr n = DimExpr::symbol("n");
  EXPECT_THROW(types_of("reshape", {Type::tensor({2, 3}, DType::f32)}, {{"shape", Dims{7}}}),
               UserError);
  std::vector<DimCheck> checks;
  types_of("reshape", {Type::tensor({n, 6}, DType::f32)}, {{"shape", Dims{2 * n, 3}}}, &checks);
  EXPECT_TRUE(checks.empty());
  types_of("reshape", {Type::tensor({n, 6}, DType::f32)}, {{"shape", Dims{4, 3}}}, &checks);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].a.evaluate({{"n", 2}}), checks[0].b.evaluate({{"n", 2}}));
}

TEST(ConcatOp, AddsUpAndRequiresTheRestToAgree) {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const auto t =
      types_of("concat", {Type::tensor({n, 4}, DType::f32), Type::tensor({m, 4}, DType::f32)},
               {{"axis", int64_t{-2}}});
  EXPECT_EQ(t[0], Type::tensor({n + m, 4}, DType::f32));
  EXPECT_THROW(
      types_of("concat", {Type::tensor({n, 4}, DType::f32), Type::tensor({m, 5}, DType::f32)},
               {{"axis", int64_t{0}}}),
      UserError);
  // The second form of the same kind: [2, found] + [3], where only the rank is known.
  const auto u =
      types_of("concat", {Type::tensor_of_rank(1, DType::i64), Type::tensor({3}, DType::i64)},
               {{"axis", int64_t{0}}});
  EXPECT_TRUE((*u[0].dims)[0].is_unknown());
}

TEST(ExpandOp, OneOrEqual) {
  const DimExpr n = DimExpr::symbol("n");
  EXPECT_THROW(types_of("expand", {Type::tensor({2}, DType::f32)}, {{"shape", Dims{3}}}),
               UserError);
  std::vector<DimCheck> checks;
  types_of("expand", {Type::tensor({n}, DType::f32)}, {{"shape", Dims{3}}}, &checks);
  ASSERT_EQ(checks.size(), 1u);
  for (const auto& [value, fits] : std::map<int64_t, bool>{{1, true}, {3, true}, {2, false}}) {
    EXPECT_EQ(checks[0].a.evaluate({{"n", value}}) == checks[0].b.evaluate({{"n", value}}), fits)
        << value;
  }
}

}  // namespace
}  // namespace symtile
