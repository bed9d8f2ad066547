#include "symtile/ir/expr.h"

#include <gtest/gtest.h>

#include <cmath>

#include "symtile/base/check.h"
#include "symtile/ir/expr_scope.h"

namespace symtile {
namespace {

const Expr i = var("i"), j = var("j"), n = var("n");
const Expr x = load("x", DType::f32, {i});

TEST(Makers, FoldConstantsWithWrapAndRounding) {
  EXPECT_EQ((Expr(2) + Expr(3)).as_int(), 5);
  EXPECT_EQ((int_imm(DType::i8, 127) + int_imm(DType::i8, 1)).as_int(), -128);
  EXPECT_EQ((int_imm(DType::u8, 0) - int_imm(DType::u8, 1)).as_int(), 255);
  EXPECT_EQ((Expr(7) / Expr(0)).as_int(), 0);
  EXPECT_EQ((Expr(INT64_MIN) / Expr(-1)).as_int(), INT64_MIN);
  EXPECT_EQ(floordiv(Expr(-7), Expr(2)).as_int(), -4);
  EXPECT_EQ(floormod(Expr(-7), Expr(2)).as_int(), 1);
  EXPECT_EQ((int_imm(DType::u64, -1) < int_imm(DType::u64, 1)).as_int(), 0);
  const Expr third = float_imm(DType::f32, 1) / float_imm(DType::f32, 3);
  EXPECT_EQ(third.as<FloatImm>()->value, static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(cast(DType::i8, float_imm(DType::f32, 300)).as_int(), 127);
  EXPECT_EQ(cast(DType::i32, float_imm(DType::f32, NAN)).as_int(), 0);
  EXPECT_EQ(cast(DType::boolean, float_imm(DType::f32, NAN)).as_int(), 1);
  EXPECT_EQ(cast(DType::f16, float_imm(DType::f32, 1e6)).str(), "f16(inf)");
}

TEST(Makers, IntegerIdentities) {
  EXPECT_TRUE((i + 0).same_as(i));
  EXPECT_TRUE((0 + i).same_as(i));
  EXPECT_TRUE((i * 1).same_as(i));
  EXPECT_TRUE((i * 0).is_int(0));
  EXPECT_TRUE((i - i).is_int(0));
  EXPECT_TRUE((-(-i)).same_as(i));
  EXPECT_TRUE(floormod(i, 1).is_int(0));
  EXPECT_TRUE(floordiv(i, 1).same_as(i));
  EXPECT_TRUE(equal(i, var("i")).is_int(1));
  EXPECT_TRUE((bool_imm(true) && (i < n)).str() == "i < n");
  EXPECT_TRUE((bool_imm(false) && (i < n)).is_int(0));
  EXPECT_TRUE(select(bool_imm(true), i, j).same_as(i));
  EXPECT_TRUE(select(i < n, j, j).same_as(j));
}

TEST(Makers, FloatIdentitiesRespectSignedZeroAndNan) {
  EXPECT_FALSE((x + float_imm(DType::f32, 0.0)).same_as(x)) << "-0.0 + 0.0 is 0.0";
  EXPECT_TRUE((x + float_imm(DType::f32, -0.0)).same_as(x));
  EXPECT_TRUE((x - float_imm(DType::f32, 0.0)).same_as(x));
  EXPECT_TRUE((x * float_imm(DType::f32, 1.0)).same_as(x));
  EXPECT_FALSE((x * float_imm(DType::f32, 0.0)).as<FloatImm>()) << "NaN * 0 is NaN";
  EXPECT_FALSE((x - x).as<FloatImm>());
  EXPECT_FALSE(equal(x, x).as<IntImm>());
}

TEST(Makers, ReduceOverNothing) {
  EXPECT_EQ(reduce(ReduceKind::sum, {{"k", 0}}, x).str(), "0.0f32");
  EXPECT_EQ(reduce(ReduceKind::max, {{"k", 0}}, x).str(), "f32(-inf)");
  EXPECT_EQ(reduce(ReduceKind::min, {{"k", 0}}, load("b", DType::u8, {})).str(), "255u8");
  EXPECT_EQ(reduce(ReduceKind::max, {{"k", 0}}, load("b", DType::i16, {})).str(), "-32768i16");
  EXPECT_EQ(reduce(ReduceKind::all, {{"k", 0}}, i < n).str(), "true");
  EXPECT_TRUE(reduce(ReduceKind::argmax, {{"k", 0}}, x).as<ReduceExpr>());
  EXPECT_TRUE(reduce(ReduceKind::sum, {}, x).same_as(x));
  EXPECT_EQ(reduce(ReduceKind::argmin, {{"k", 3}}, x).dtype(), DType::i64);
}

TEST(Makers, RefuseWrongTypes) {
  EXPECT_THROW(x + i, InternalError);
  EXPECT_THROW(x && x, InternalError);
  EXPECT_THROW(binary(BinaryOp::shl, x, x), InternalError);
  EXPECT_THROW(unary(UnaryOp::exp, i), InternalError);
  EXPECT_THROW(unary(UnaryOp::neg, i < j), InternalError);
  EXPECT_THROW(select(i, j, j), InternalError);
  EXPECT_THROW(load("x", DType::f32, {x}), InternalError);
  EXPECT_THROW(reduce(ReduceKind::sum, {{"k", 2}}, i < j), InternalError);
  EXPECT_THROW(reduce(ReduceKind::argmax, {{"k", 2}, {"l", 2}}, x), InternalError);
  EXPECT_THROW(int_imm(DType::f32, 1), InternalError);
}

TEST(Dimensions, ThereAndBack) {
  const DimExpr a = DimExpr::symbol("a"), b = DimExpr::symbol("b");
  for (const DimExpr& d : {4 * a + 1, a * b - 3, floordiv(a + 1, 2), max(a, b) + min(a, 2 * b),
                           floormod(a, b), DimExpr(-7), DimExpr(0), a * a * b - a, -1 * a}) {
    EXPECT_EQ(to_dim_expr(to_expr(d)), d) << d.str() << " as " << to_expr(d).str();
  }
  EXPECT_EQ(to_expr(4 * a + 1).str(), "a * 4 + 1");
  EXPECT_FALSE(to_dim_expr(cast(DType::i64, x)));
  EXPECT_FALSE(to_dim_expr(i / 2)) << "div truncates";
  EXPECT_FALSE(to_dim_expr(binary(BinaryOp::mul, n * INT64_MAX, Expr(4)))) << "overflow";
}

TEST(Walk, RewriteKeepsWhatDoesNotChange) {
  const Expr e = x * x + x;
  EXPECT_TRUE(rewrite(e, [](const Expr& s) { return s; }).same_as(e));
  int visits = 0;
  visit(e, [&](const Expr&) { ++visits; });
  EXPECT_EQ(visits, 8);
  const Expr zero = rewrite(i * 2 + j, [](const Expr& s) { return s.as<VarRef>() ? Expr(3) : s; });
  EXPECT_TRUE(zero.is_int(9)) << "new constants fold";
}

TEST(Walk, RewriteOfSharedTreesIsLinear) {
  Expr e = x;
  for (int k = 0; k < 60; ++k) e = e + e;
  const Expr y = load("y", DType::f32, {i});
  const Expr out = rewrite(e, [&](const Expr& s) { return s.as<Load>() ? y : s; });
  EXPECT_EQ(out.dtype(), DType::f32);
  EXPECT_TRUE(substitute(e, {{"i", j}}).defined());
}

TEST(Substitute, IsSimultaneousAndScoped) {
  EXPECT_EQ(substitute(i + j, {{"i", j}, {"j", i}}).str(), "j + i");
  const Expr sum =
      reduce(ReduceKind::sum, {{"k", DimExpr::symbol("n")}}, load("x", DType::f32, {var("k"), i}));
  EXPECT_EQ(substitute(sum, {{"k", j}}).str(), "sum(k < n) %x[k, i]") << "k is bound";
  EXPECT_EQ(substitute(sum, {{"n", Expr(8)}}).str(), "sum(k < 8) %x[k, i]");
  EXPECT_EQ(substitute(sum, {{"i", var("k") + 1}}).str(), "sum(k_1 < n) %x[k_1, k + 1]")
      << "the outer k is not captured";
  EXPECT_THROW(substitute(sum, {{"n", cast(DType::i64, x)}}), InternalError);
  EXPECT_EQ(free_variables(sum), (std::set<std::string>{"i", "n"}));
}

TEST(Simplify, IndexArithmeticAndConditions) {
  Facts facts;
  facts.bound("n", 1, 4096);
  facts.bound("i", 0, 15);
  facts.bound("j", 0, 3);
  EXPECT_EQ(simplify((i * 4 + j) - j, facts).str(), "i * 4");
  EXPECT_EQ(simplify(floordiv(i * 4 + j, 4), facts).str(), "i");
  EXPECT_EQ(simplify(floormod(i * 4 + j, 4), facts).str(), "j");
  EXPECT_TRUE(simplify(i < 16, facts).is_int(1));
  EXPECT_TRUE(simplify(i >= 16, facts).is_int(0));
  EXPECT_TRUE(simplify(equal(n, 0), facts).is_int(0));
  EXPECT_EQ(simplify(i < n, facts).str(), "i < n");
  EXPECT_TRUE(simplify(select(i < 20, x, float_imm(DType::f32, 0)), facts).same_as(x));
  EXPECT_EQ(simplify(load("x", DType::f32, {i + 0 * j}), facts).str(), "%x[i]");
}

TEST(Simplify, ConditionsAndRangesHoldInside) {
  Facts facts;
  const Expr guarded =
      select(i < n, select(i < n + 1, x, float_imm(DType::f32, 0)), float_imm(DType::f32, 1));
  EXPECT_EQ(simplify(guarded, facts).str(), "select(i < n, %x[i], 1.0f32)");
  const Expr k = var("k");
  const Expr sum = reduce(ReduceKind::sum, {{"k", DimExpr::symbol("n")}},
                          select(k < n, load("x", DType::f32, {k}), float_imm(DType::f32, 0)));
  EXPECT_EQ(simplify(sum, facts).str(), "sum(k < n) %x[k]");
}

TEST(Simplify, AnOuterVariableOfTheSameNameMisleadsNoOne) {
  Facts facts;
  facts.bound("k", 0, 0);
  const Expr k = var("k");
  const Expr sum =
      reduce(ReduceKind::sum, {{"k", 8}}, select(equal(k, 0), x, float_imm(DType::f32, 0)));
  EXPECT_EQ(simplify(sum, facts).str(), sum.str());
}

TEST(Equality, CountsDtypesZerosAndNans) {
  EXPECT_TRUE(structurally_equal(i + j, var("i") + var("j")));
  EXPECT_FALSE(structurally_equal(i + j, j + i));
  EXPECT_FALSE(structurally_equal(int_imm(DType::i32, 1), Expr(1)));
  EXPECT_FALSE(structurally_equal(float_imm(DType::f32, 0.0), float_imm(DType::f32, -0.0)));
  EXPECT_TRUE(structurally_equal(float_imm(DType::f32, NAN), float_imm(DType::f32, NAN)));
}

}  // namespace
}  // namespace symtile
