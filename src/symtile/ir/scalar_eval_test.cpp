#include "symtile/ir/scalar_eval.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "symtile/base/check.h"
#include "symtile/base/half.h"

namespace symtile {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ScalarEval, IntegersWrapAtTheirWidth) {
  EXPECT_EQ(wrap_to(DType::i8, 200), -56);
  EXPECT_EQ(wrap_to(DType::u8, -1), 255);
  EXPECT_EQ(wrap_to(DType::boolean, 256), 1);
  EXPECT_EQ(eval_unary_int(UnaryOp::neg, DType::i8, -128), -128);
  EXPECT_EQ(eval_unary_int(UnaryOp::abs, DType::i8, -128), -128);
  EXPECT_EQ(eval_unary_int(UnaryOp::abs, DType::u64, -1), -1);
  EXPECT_EQ(eval_unary_int(UnaryOp::sign, DType::u64, -1), 1);
  EXPECT_EQ(eval_unary_int(UnaryOp::bit_not, DType::u8, 1), 254);
  EXPECT_EQ(eval_binary_int(BinaryOp::mul, DType::i32, 1 << 20, 1 << 20), 0);
}

TEST(ScalarEval, IntegerDivisions) {
  const auto eval = [](BinaryOp op, int64_t a, int64_t b) {
    return eval_binary_int(op, DType::i64, a, b);
  };
  EXPECT_EQ(eval(BinaryOp::div, -7, 2), -3);
  EXPECT_EQ(eval(BinaryOp::floordiv, -7, 2), -4);
  EXPECT_EQ(eval(BinaryOp::floordiv, 7, -2), -4);
  EXPECT_EQ(eval(BinaryOp::floormod, -7, 2), 1);
  EXPECT_EQ(eval(BinaryOp::floormod, 7, -2), -1);
  EXPECT_EQ(eval(BinaryOp::fmod, -7, 2), -1);
  for (BinaryOp op : {BinaryOp::div, BinaryOp::floordiv, BinaryOp::floormod, BinaryOp::fmod}) {
    EXPECT_EQ(eval(op, 5, 0), 0) << name_of(op);
  }
  EXPECT_EQ(eval(BinaryOp::div, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(eval(BinaryOp::floordiv, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(eval(BinaryOp::floormod, INT64_MIN, -1), 0);
  EXPECT_EQ(eval_binary_int(BinaryOp::div, DType::i8, -128, -1), -128);
  EXPECT_EQ(eval_binary_int(BinaryOp::div, DType::u64, -1, 2), INT64_MAX);
}

TEST(ScalarEval, PowersAndShifts) {
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::i64, 3, 4), 81);
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::i8, 2, 7), -128);
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::i64, 2, -1), 0);
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::i64, -1, -3), -1);
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::i64, 0, -1), 0);
  EXPECT_EQ(eval_binary_int(BinaryOp::pow, DType::u64, 1, -1), 1);
  EXPECT_EQ(eval_binary_int(BinaryOp::shl, DType::u8, 255, 1), 254);
  EXPECT_EQ(eval_binary_int(BinaryOp::shl, DType::i32, 1, 32), 0);
  EXPECT_EQ(eval_binary_int(BinaryOp::shl, DType::i64, 1, -1), 0);
  EXPECT_EQ(eval_binary_int(BinaryOp::shr, DType::i32, -8, 1), -4);
  EXPECT_EQ(eval_binary_int(BinaryOp::shr, DType::i32, -8, 40), -1);
  EXPECT_EQ(eval_binary_int(BinaryOp::shr, DType::u64, -1, 63), 1);
  EXPECT_EQ(eval_binary_int(BinaryOp::shr, DType::u8, 200, 8), 0);
}

TEST(ScalarEval, FloatsAtTheirEdges) {
  EXPECT_EQ(eval_unary(UnaryOp::round, 2.5), 2);
  EXPECT_EQ(eval_unary(UnaryOp::round, 3.5), 4);
  EXPECT_TRUE(std::signbit(eval_unary(UnaryOp::round, -0.2)));
  EXPECT_TRUE(std::isnan(eval_unary(UnaryOp::sign, kNan)));
  EXPECT_EQ(eval_unary(UnaryOp::sigmoid, -kInf), 0);
  EXPECT_EQ(eval_unary(UnaryOp::sigmoid, kInf), 1);
  EXPECT_GT(eval_unary(UnaryOp::sigmoid, -700), 0);
  EXPECT_TRUE(std::isnan(eval_binary(BinaryOp::max, 1, kNan)));
  EXPECT_TRUE(std::isnan(eval_binary(BinaryOp::min, kNan, 1)));
  EXPECT_EQ(eval_binary(BinaryOp::floormod, -1, 3), 2);
  EXPECT_EQ(eval_binary(BinaryOp::floormod, 1, -3), -2);
  EXPECT_TRUE(std::signbit(eval_binary(BinaryOp::floormod, 3, -3)));
  EXPECT_EQ(eval_binary(BinaryOp::fmod, -1, 3), -1);
  EXPECT_EQ(eval_binary(BinaryOp::floordiv, -7, 2), -4);
  EXPECT_EQ(eval_binary(BinaryOp::ne, kNan, kNan), 1);
  EXPECT_EQ(eval_binary(BinaryOp::le, kNan, kNan), 0);
  EXPECT_THROW(eval_binary(BinaryOp::shl, 1, 1), InternalError);
}

TEST(ScalarEval, EveryOperatorAcceptsWhatItsTypeRuleSays) {
  for (int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    for (int64_t b : {int64_t{0}, int64_t{-1}, int64_t{3}, INT64_MIN}) {
      for (int t = static_cast<int>(DType::i8); t < kNumDTypes; ++t) {
        const auto dtype = static_cast<DType>(t);
        const int64_t x = wrap_to(dtype, a), y = wrap_to(dtype, b);
#define BINARY_OP(name)                                             \
  {                                                                 \
    const int64_t r = eval_binary_int(BinaryOp::name, dtype, x, y); \
    const bool test = is_comparison(BinaryOp::name);                \
    EXPECT_EQ(wrap_to(test ? DType::boolean : dtype, r), r)         \
        << #name << " " << name_of(dtype) << " " << x << " " << y;  \
  }
#include "symtile/ir/scalar_ops.def"
      }
    }
  }
}

TEST(ScalarEval, CastsSaturateAndWrap) {
  EXPECT_EQ(cast_float_to_int(DType::i8, 1e9), 127);
  EXPECT_EQ(cast_float_to_int(DType::i8, -1e9), -128);
  EXPECT_EQ(cast_float_to_int(DType::u8, -3), 0);
  EXPECT_EQ(cast_float_to_int(DType::i32, -2.9), -2);
  EXPECT_EQ(cast_float_to_int(DType::i64, kInf), INT64_MAX);
  EXPECT_EQ(cast_float_to_int(DType::i64, -kInf), INT64_MIN);
  EXPECT_EQ(cast_float_to_int(DType::u64, kInf), -1);
  EXPECT_EQ(cast_float_to_int(DType::u64, 0x1p63), INT64_MIN);
  EXPECT_EQ(cast_float_to_int(DType::i64, kNan), 0);
  EXPECT_EQ(cast_float_to_int(DType::boolean, -0.0), 0);
  EXPECT_EQ(cast_int_to_int(DType::i8, 300), 44);
  EXPECT_EQ(cast_int_to_float(DType::u64, DType::f64, -1), 0x1p64);
  EXPECT_EQ(cast_int_to_float(DType::i64, DType::f64, -1), -1);
  EXPECT_EQ(eval_cast(DType::f32, {DType::boolean, 0, 1}).real, 1);
}

/// The nearest f16 by search over all of them; ties to the even bit pattern.
double nearest_half(double value) {
  double best = kInf;
  uint16_t best_bits = 0;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double h = half_to_float(static_cast<uint16_t>(bits));
    const double distance = std::fabs(h - std::fabs(value));
    if (distance < best || (distance == best && bits % 2 == 0)) {
      best = distance;
      best_bits = static_cast<uint16_t>(bits);
    }
  }
  // Halfway to the next power of two and above is infinity.
  if (std::fabs(value) >= 65520) return std::copysign(kInf, value);
  return std::copysign(half_to_float(best_bits), value);
}

TEST(ScalarEval, RoundsOnce) {
  // 1 + 2^-11 + 2^-40 is above the tie, but f32 rounds it to the tie.
  EXPECT_EQ(round_to(DType::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(DType::f16, 1 + 0x1p-11), 1);
  EXPECT_EQ(round_to(DType::bf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::f16, 65519.999), 65504);
  EXPECT_EQ(round_to(DType::f16, 65520), kInf);
  EXPECT_EQ(round_to(DType::bf16, 1e39), kInf);
  EXPECT_TRUE(std::signbit(round_to(DType::f16, -1e-30)));
  EXPECT_TRUE(std::isnan(round_to(DType::f16, kNan)));
  EXPECT_EQ(cast_int_to_float(DType::i64, DType::bf16, (int64_t{1} << 60) + (int64_t{1} << 52) + 1),
            0x1p60 + 0x1p53);
  std::mt19937_64 engine(1);
  for (int k = 0; k < 300; ++k) {
    const double value = std::ldexp(static_cast<double>(static_cast<int64_t>(engine())),
                                    -63 + static_cast<int>(engine() % 40) - 24);
    ASSERT_EQ(round_to(DType::f16, value), nearest_half(value)) << value;
  }
}

}  // namespace
}  // namespace symtile
