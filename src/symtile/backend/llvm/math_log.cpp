// log and its relatives: log1p, the inverse hyperbolic functions, pow.

#include "symtile/backend/llvm/math_builder.h"
#include "symtile/backend/llvm/math_coefficients.h"

namespace symtile::codegen {

using llvm::Value;

namespace {
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
/// Squares of larger numbers overflow, and log(2x) is exact enough.
constexpr double kHuge = 1e150;
}  // namespace

Value* MathBuilder::split_mantissa(Value* x, Value** exponent) {
  // x = m * 2^exponent with sqrt(1/2) <= m < sqrt(2); denormals are lifted first.
  const bool narrow = is_f32(x);
  const int bits = narrow ? 23 : 52;
  Value* is_small = b_.CreateFCmpOLT(x, num(x, narrow ? 0x1p-126 : 0x1p-1022));
  Value* lifted = b_.CreateSelect(is_small, scaled(x, narrow ? 0x1p24 : 0x1p54), x);
  llvm::Type* type = bits_type(x);
  Value* raw = to_bits(lifted);
  Value* root = int_constant(type, narrow ? 0x3f3504f3 : 0x3fe6a09e667f3bcd);
  Value* e = b_.CreateAShr(b_.CreateSub(raw, root), int_constant(type, bits));
  Value* m = b_.CreateSub(raw, b_.CreateShl(e, int_constant(type, bits)));
  // Small integers become floats through the mantissa; 64-bit conversions are slow on vectors.
  Value* shift = num(x, narrow ? 0x1.8p23 : 0x1.8p52);
  Value* as_float =
      sub(b_.CreateBitCast(b_.CreateAdd(e, b_.CreateBitCast(shift, type)), x->getType()), shift);
  *exponent = sub(as_float, b_.CreateSelect(is_small, num(x, narrow ? 24 : 54), num(x, 0)));
  return b_.CreateBitCast(m, x->getType());
}

Value* MathBuilder::log_special(Value* x, Value* result) {
  Value* zero = num(x, 0);
  result = b_.CreateSelect(b_.CreateFCmpOLT(x, infinity(x)), result, x);  // infinity, NaN
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero),
                           llvm::ConstantFP::getInfinity(x->getType(), true), result);
  return b_.CreateSelect(b_.CreateFCmpOLT(x, zero), nan(x), result);
}

Value* MathBuilder::log32(Value* x) {
  Value* e;
  Value* f = plus(split_mantissa(x, &e), -1);
  Value* z = mul(f, f);
  Value* tail = mul(mul(f, z), poly(kLog32, f));
  tail = madd(e, num(x, kLn2Parts32[1]), tail);
  tail = madd(z, num(x, -0.5), tail);
  return log_special(x, madd(e, num(x, kLn2Parts32[0]), add(f, tail)));
}

Value* MathBuilder::log64(Value* x) {
  Value* e;
  Value* f = plus(split_mantissa(x, &e), -1);
  Value* s = div(f, plus(f, 2));
  Value* z = mul(s, s);
  Value* half_square = scaled(mul(f, f), 0.5);
  Value* rest = madd(s, add(half_square, mul(z, poly(kLog64, z))), scaled(e, kLn2Parts64[1]));
  return log_special(x, sub(scaled(e, kLn2Parts64[0]), sub(sub(half_square, rest), f)));
}

Value* MathBuilder::log1p(Value* x) {
  // log(u) with u = 1 + x and the rounding error of u put back; near 0, x itself is 1's distance.
  Value* u = plus(x, 1);
  Value* is_near =
      b_.CreateAnd(b_.CreateFCmpOGT(x, num(x, -0.29)), b_.CreateFCmpOLT(x, num(x, 0.41)));
  Value* e;
  Value* m = split_mantissa(u, &e);
  Value* zero = num(x, 0);
  Value* is_large = b_.CreateFCmpOGT(x, num(x, 1));
  Value* lost = b_.CreateSelect(is_large, sub(num(x, 1), sub(u, x)), sub(x, plus(u, -1)));
  Value* correction = b_.CreateSelect(is_near, zero, div(lost, u));
  e = b_.CreateSelect(is_near, zero, e);
  Value* f = b_.CreateSelect(is_near, x, plus(m, -1));
  Value* s = div(f, plus(f, 2));
  Value* z = mul(s, s);
  Value* half_square = scaled(mul(f, f), 0.5);
  Value* rest = madd(s, add(half_square, mul(z, poly(kLog64, z))),
                     madd(e, num(x, kLn2Parts64[1]), correction));
  Value* result = sub(scaled(e, kLn2Parts64[0]), sub(sub(half_square, rest), f));
  result = log_special(u, result);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), x, result);
}

Value* MathBuilder::asinh(Value* x) {
  Value* a = abs(x);
  Value* square = mul(a, a);
  Value* argument = add(a, div(square, plus(sqrt(plus(square, 1)), 1)));
  Value* is_huge = b_.CreateFCmpOGT(a, num(a, kHuge));
  Value* log = log1p(b_.CreateSelect(is_huge, a, argument));
  return with_sign_of(b_.CreateSelect(is_huge, plus(log, kLn2), log), x);
}

Value* MathBuilder::acosh(Value* x) {
  Value* t = plus(x, -1);
  Value* argument = add(t, sqrt(madd(t, t, scaled(t, 2))));
  Value* is_huge = b_.CreateFCmpOGT(x, num(x, kHuge));
  Value* log = log1p(b_.CreateSelect(is_huge, x, argument));
  Value* result = b_.CreateSelect(is_huge, plus(log, kLn2), log);
  return b_.CreateSelect(b_.CreateFCmpOLT(x, num(x, 1)), nan(x), result);
}

Value* MathBuilder::atanh(Value* x) {
  Value* a = abs(x);
  Value* log = log1p(div(scaled(a, 2), sub(num(a, 1), a)));
  return with_sign_of(scaled(log, 0.5), x);
}

MathBuilder::Pair MathBuilder::log_pair(Value* x) {
  // log(m) = 2s + s z (2/3 + z p(z)) with s = (m-1)/(m+1); the first two terms in pairs.
  Value* e;
  Value* f = plus(split_mantissa(x, &e), -1);
  const Pair denominator = two_sum(f, num(f, 2));
  Value* s = div(f, denominator.hi);
  const Pair product = two_product(s, denominator.hi);
  Value* remainder = sub(sub(sub(f, product.hi), product.lo), mul(s, denominator.lo));
  Value* s_low = div(remainder, denominator.hi);
  const Pair square = two_product(s, s);
  Value* square_low = madd(scaled(s, 2), s_low, square.lo);
  Value* z = square.hi;
  const Pair factor = two_sum(num(x, kTwoThirds[0]), mul(z, poly(kLogTail64, z)));
  Value* factor_low = plus(factor.lo, kTwoThirds[1]);
  const Pair term = two_product(z, factor.hi);
  Value* term_low = add(madd(z, factor_low, term.lo), mul(square_low, factor.hi));
  const Pair cubic = two_product(s, term.hi);
  Value* cubic_low = add(madd(s, term_low, cubic.lo), mul(s_low, term.hi));
  const Pair sum = quick_two_sum(scaled(s, 2), cubic.hi);
  Value* low = add(add(sum.lo, cubic_low), scaled(s_low, 2));
  // The first part of e ln 2 is exact.
  const Pair whole = two_sum(scaled(e, kLn2Parts64[0]), sum.hi);
  low = add(add(whole.lo, low), scaled(e, kLn2Parts64[1]));
  return quick_two_sum(whole.hi, low);
}

Value* MathBuilder::pow64(Value* x, Value* y, bool precise) {
  Value* a = abs(x);
  Value* zero = num(x, 0);
  Value* one = num(x, 1);
  Value* power;
  if (precise) {
    Pair log = log_pair(a);
    Value* is_plain = b_.CreateAnd(b_.CreateFCmpOGT(a, zero), b_.CreateFCmpOLT(a, infinity(a)));
    log.hi = b_.CreateSelect(is_plain, log.hi, log_special(a, a));
    log.lo = b_.CreateSelect(is_plain, log.lo, zero);
    const Pair product = two_product(y, log.hi);
    Value* low = madd(y, log.lo, product.lo);
    // Where the product overflows there is no low part to speak of.
    Value* is_finite =
        b_.CreateAnd(b_.CreateFCmpOLT(abs(product.hi), num(x, 1000)), b_.CreateFCmpORD(low, low));
    power = exp64(product.hi, b_.CreateSelect(is_finite, low, zero));
  } else {
    power = exp64(mul(y, log64(a)));
  }
  const auto trunc = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v); };
  Value* half = scaled(y, 0.5);
  Value* is_integer = b_.CreateFCmpOEQ(trunc(y), y);
  Value* is_odd = b_.CreateAnd(is_integer, b_.CreateFCmpONE(trunc(half), half));
  power = b_.CreateSelect(is_odd, with_sign_of(power, x), power);
  Value* finite_negative =
      b_.CreateAnd(b_.CreateFCmpOLT(x, zero), b_.CreateFCmpOLT(a, infinity(a)));
  Value* is_fraction = b_.CreateAnd(b_.CreateFCmpUNE(trunc(y), y), b_.CreateFCmpORD(y, y));
  power = b_.CreateSelect(b_.CreateAnd(finite_negative, is_fraction), nan(x), power);
  // 1 whatever the other operand is, NaN included; and (-1)^(+-infinity).
  Value* is_one = b_.CreateOr(b_.CreateFCmpOEQ(x, one), b_.CreateFCmpOEQ(y, zero));
  Value* on_circle = b_.CreateAnd(b_.CreateFCmpOEQ(a, one), b_.CreateFCmpOEQ(abs(y), infinity(y)));
  return b_.CreateSelect(b_.CreateOr(is_one, on_circle), one, power);
}

Value* MathBuilder::pow(Value* x, Value* y) {
  if (!is_f32(x)) return pow64(x, y, true);
  llvm::Type* wide = shaped_like(b_.getDoubleTy(), x);
  Value* power = pow64(b_.CreateFPExt(x, wide), b_.CreateFPExt(y, wide), false);
  return b_.CreateFPTrunc(power, x->getType());
}

}  // namespace symtile::codegen
