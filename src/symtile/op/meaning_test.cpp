// Reference meanings: cases that other compilers got wrong, and special values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "symtile/op/op.h"

namespace symtile {
namespace {

/// The value of an operator on constants.
RefTensor evaluate(const std::string& op, const std::vector<RefTensor>& inputs,
                   Attributes attrs = {}) {
  OpCall call{op, {}, std::move(attrs)};
  DimValues none;
  EvalContext c(call, none);
  for (const RefTensor& t : inputs) c.inputs.push_back(&t);
  find_op(op)->evaluate(c);
  return c.outputs.at(0);
}

RefTensor reals(std::vector<int64_t> dims, const std::vector<double>& values,
                DType t = DType::f32) {
  RefTensor out(t, std::move(dims));
  out.f = values;
  return out;
}

RefTensor ints(DType t, const std::vector<int64_t>& values) {
  RefTensor out(t, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set_int(static_cast<int64_t>(i), values[i]);
  return out;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Meaning, IntegersWrap) {
  EXPECT_EQ(
      evaluate("mul", {ints(DType::u8, {200, 100, 50, 10}), ints(DType::u8, {200, 3, 6, 30})}).i,
      (std::vector<int64_t>{64, 44, 44, 44}));
  EXPECT_EQ(evaluate("add", {ints(DType::i8, {100, 127, -128, -100}),
                             ints(DType::i8, {100, 10, -10, -50})})
                .i,
            (std::vector<int64_t>{-56, -119, 118, 106}));
  EXPECT_EQ(
      evaluate("sub", {ints(DType::i8, {-128, 127, -1, 0}), ints(DType::i8, {1, -128, -127, 100})})
          .i,
      (std::vector<int64_t>{127, -1, 126, -100}));
}

TEST(Meaning, CastToI64Saturates) {
  RefTensor x = reals({4}, {static_cast<float>(5e18), static_cast<float>(-5e18),
                            static_cast<float>(1e15), static_cast<float>(7.7)});
  EXPECT_EQ(evaluate("cast", {x}, {{"to", DType::i64}}).i,
            (std::vector<int64_t>{4999999990253223936, -4999999990253223936, 999999986991104, 7}));
  EXPECT_EQ(evaluate("cast", {reals({3}, {kNan, kInf, -kInf})}, {{"to", DType::i32}}).i,
            (std::vector<int64_t>{0, std::numeric_limits<int32_t>::max(),
                                  std::numeric_limits<int32_t>::min()}));
}

TEST(Meaning, EmptyReductions) {
  const std::vector<int64_t> axis0{0};
  const RefTensor x(DType::f32, {0, 4});
  EXPECT_EQ(evaluate("reduce_max", {x}, {{"axes", axis0}}).f, std::vector<double>(4, -kInf));
  EXPECT_EQ(evaluate("reduce_min", {x}, {{"axes", axis0}}).f, std::vector<double>(4, kInf));
  EXPECT_EQ(evaluate("reduce_prod", {x}, {{"axes", axis0}}).f, std::vector<double>(4, 1));
  EXPECT_EQ(evaluate("reduce_log_sum_exp", {x}, {{"axes", axis0}}).f,
            std::vector<double>(4, -kInf));
  EXPECT_EQ(evaluate("reduce_max", {RefTensor(DType::i8, {0, 1})}, {{"axes", axis0}}).i,
            std::vector<int64_t>{-128});
  EXPECT_EQ(evaluate("reduce_sum", {RefTensor(DType::f32, {0, 0})}, {{"axes", axis0}}).dims,
            (std::vector<int64_t>{1, 0}));
}

TEST(Meaning, BatchNormOfRankOneIsOneChannel) {
  RefTensor x(DType::f32, {10});
  for (int64_t i = 0; i < 10; ++i) x.set(i, static_cast<double>(i));
  const auto one = [](double v) { return reals({1}, {v}); };
  const RefTensor y = evaluate("batch_norm", {x, one(2), one(3), one(4), one(5)});
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(y.as_double(i), (static_cast<double>(i) - 4) / std::sqrt(5 + 1e-5) * 2 + 3, 1e-12);
  }
}

TEST(Meaning, GroupNormNormalisesTheWholeGroup) {
  RefTensor x(DType::f32, {1, 4, 2, 2});
  for (int64_t i = 0; i < 16; ++i) x.set(i, static_cast<double>(i + 1));
  const RefTensor y =
      evaluate("group_norm", {x, reals({4}, {1, 1, 1, 1}), reals({4}, {0, 0, 0, 0})},
               {{"num_groups", int64_t{1}}});
  EXPECT_NEAR(y.f.front(), -1.626978, 1e-6);
  EXPECT_NEAR(y.f.back(), 1.626978, 1e-6);
}

TEST(Meaning, NanIsKeptByClipMaxAndRelu) {
  const RefTensor nan = reals({1}, {kNan});
  EXPECT_TRUE(std::isnan(evaluate("relu", {nan}).f[0]));
  EXPECT_TRUE(std::isnan(evaluate("max", {nan, reals({1}, {0})}).f[0]));
  EXPECT_TRUE(std::isnan(evaluate("min", {reals({1}, {0}), nan}).f[0]));
  EXPECT_TRUE(std::isnan(evaluate("clip", {nan, reals({}, {0}), reals({}, {1})}).f[0]));
  // Bounds in the wrong order: everything is the upper one.
  EXPECT_EQ(evaluate("clip", {reals({2}, {-5, 5}), reals({}, {2}), reals({}, {1})}).f,
            (std::vector<double>{1, 1}));
}

TEST(Meaning, ArgmaxTakesTheFirstNanAndTheFirstTie) {
  EXPECT_EQ(evaluate("argmax", {reals({4}, {1, kNan, 5, kNan})}).i, std::vector<int64_t>{1});
  EXPECT_EQ(
      evaluate("argmax", {reals({4}, {1, kNan, 5, kNan})}, {{"select_last_index", int64_t{1}}}).i,
      std::vector<int64_t>{3});
  EXPECT_EQ(evaluate("argmin", {reals({4}, {2, 1, 1, 3})}).i, std::vector<int64_t>{1});
  EXPECT_EQ(evaluate("argmin", {reals({4}, {2, 1, 1, 3})}, {{"select_last_index", int64_t{1}}}).i,
            std::vector<int64_t>{2});
}

TEST(Meaning, ModSignsAndDivisionTruncates) {
  EXPECT_EQ(evaluate("mod", {ints(DType::i32, {-4, 7, 5, 4, -7, 8}),
                             ints(DType::i32, {2, -3, 8, -2, 3, 5})})
                .i,
            (std::vector<int64_t>{0, -2, 5, 0, 2, 3}));
  EXPECT_EQ(
      evaluate("mod",
               {ints(DType::i32, {-4, 7, 5, 4, -7, 8}), ints(DType::i32, {2, -3, 8, -2, 3, 5})},
               {{"fmod", int64_t{1}}})
          .i,
      (std::vector<int64_t>{0, 1, 5, 0, -1, 3}));
  EXPECT_EQ(evaluate("div", {ints(DType::i32, {-7, 7, 1}), ints(DType::i32, {2, -2, 0})}).i,
            (std::vector<int64_t>{-3, -3, 0}));
}

TEST(Meaning, QuantisationRoundsHalfToEvenAndSaturates) {
  const RefTensor x = reals({6}, {1, 3, 5, -5, 1000, kNan});
  const RefTensor y =
      evaluate("quantize_linear", {x, reals({}, {2}), ints(DType::u8, {1})}, {{"to", DType::u8}});
  EXPECT_EQ(y.i, (std::vector<int64_t>{1, 3, 3, 0, 255, 0}));
}

TEST(Meaning, SoftmaxOfHugeValuesIsFinite) {
  const RefTensor y = evaluate("softmax", {reals({2}, {10000, 10000})});
  EXPECT_EQ(y.f, (std::vector<double>{0.5, 0.5}));
  const RefTensor z = evaluate("log_softmax", {reals({2}, {0, -10000})});
  EXPECT_EQ(z.f, (std::vector<double>{0, -10000}));
}

}  // namespace
}  // namespace symtile
