// exp and its relatives: expm1, sinh, cosh, tanh, sigmoid, erf.

#include "symtile/backend/llvm/math_builder.h"
#include "symtile/backend/llvm/math_coefficients.h"

namespace symtile::codegen {

using llvm::Value;

namespace {
constexpr double kLog2E = 0x1.71547652b82fep+0;
}

Value* MathBuilder::exp_reduced(Value* x, Value* low, Value** n) {
  return plus(expm1_reduced(x, low, n), 1);
}

Value* MathBuilder::expm1_reduced(Value* x, Value* low, Value** n) {
  // x = n ln 2 + r; the products with the first part of ln 2 are exact.
  const bool narrow = is_f32(x);
  Value* count = nearest(scaled(x, kLog2E), n);
  const auto& ln2 = narrow ? kLn2Parts32 : kLn2Parts64;
  Value* r = madd(count, num(x, -ln2[0]), x);
  r = madd(count, num(x, -ln2[1]), r);
  if (low) r = add(r, low);
  Value* p = narrow ? poly(kExp32, r) : poly(kExp64, r);
  return madd(mul(r, r), p, r);
}

Value* MathBuilder::exp32(Value* x) {
  // Beyond these limits the result is 0 or infinity, which the scaling below produces.
  Value* n;
  Value* mantissa = exp_reduced(at_least(at_most(x, 89), -104.5), nullptr, &n);
  return scale_by(mantissa, n);
}

Value* MathBuilder::exp32_in_range(Value* x) {
  Value* n;
  Value* mantissa = exp_reduced(x, nullptr, &n);
  return mul(mantissa, power_of_two(n));
}

Value* MathBuilder::exp64(Value* x, Value* low) {
  Value* n;
  Value* mantissa = exp_reduced(at_least(at_most(x, 710), -746), low, &n);
  return scale_by(mantissa, n);
}

Value* MathBuilder::expm1(Value* x) {
  Value* clamped = at_least(at_most(x, 710), -50);
  Value* n;
  Value* count = nearest(scaled(clamped, kLog2E), &n);
  Value* high = madd(count, num(x, -kLn2Parts64[0]), clamped);
  Value* low = scaled(count, kLn2Parts64[1]);
  Value* r = sub(high, low);
  Value* error = sub(sub(high, r), low);
  Value* small = add(r, madd(mul(r, r), poly(kExp64, r), error));
  // 2^n (small + 1) - 1, at half scale so that 2^1024 does not occur.
  Value* scale = power_of_two(b_.CreateSub(n, int_constant(n->getType(), 1)));
  Value* half = madd(scale, small, plus(scale, -0.5));
  return with_sign_of(scaled(half, 2), x);
}

Value* MathBuilder::sinh(Value* x) {
  Value* a = abs(x);
  Value* t = expm1(a);
  Value* normal = scaled(add(t, div(t, plus(t, 1))), 0.5);
  Value* root = exp64(scaled(a, 0.5));
  Value* large = mul(scaled(root, 0.5), root);
  return with_sign_of(b_.CreateSelect(b_.CreateFCmpOGT(a, num(a, 700)), large, normal), x);
}

Value* MathBuilder::cosh(Value* x) {
  Value* a = abs(x);
  Value* e = exp64(a);
  Value* normal = add(scaled(e, 0.5), div(num(a, 0.5), e));
  Value* root = exp64(scaled(a, 0.5));
  Value* large = mul(scaled(root, 0.5), root);
  return b_.CreateSelect(b_.CreateFCmpOGT(a, num(a, 700)), large, normal);
}

Value* MathBuilder::tanh32(Value* x) {
  Value* a = abs(x);
  Value* z = mul(x, x);
  Value* small = madd(mul(x, z), poly(kTanh32, z), x);
  Value* e = exp32_in_range(scaled(at_most(a, 10), 2));
  Value* large = sub(num(x, 1), div(num(x, 2), plus(e, 1)));
  Value* is_small = b_.CreateFCmpOLT(a, num(x, 0.625));
  return with_sign_of(b_.CreateSelect(is_small, small, large), x);
}

Value* MathBuilder::tanh64(Value* x) {
  Value* t = expm1(scaled(at_most(abs(x), 22), 2));
  return with_sign_of(div(t, plus(t, 2)), x);
}

Value* MathBuilder::sigmoid32(Value* x) {
  // e / (1 + e) or 1 / (1 + e) with e = exp(-|x|), which cannot overflow. What the sums 1 + w and
  // 1 + e lose is put back, else three roundings in a row could exceed 2 ulp.
  Value* n;
  Value* one = num(x, 1);
  Value* w = expm1_reduced(at_least(b_.CreateFNeg(abs(x)), -104.5), nullptr, &n);
  Value* mantissa = add(w, one);
  Value* e = scale_by(mantissa, n);
  Value* e_low = scale_by(sub(w, sub(mantissa, one)), n);
  Value* d = add(e, one);
  Value* d_low = add(sub(e, sub(d, one)), e_low);
  Value* is_negative = b_.CreateFCmpOLT(x, num(x, 0));
  Value* q = div(b_.CreateSelect(is_negative, e, one), d);
  Value* q_low = sub(b_.CreateSelect(is_negative, e_low, num(x, 0)), mul(q, d_low));
  // The correction needs few bits of 1 / d, and 1 <= d <= 2.
  return madd(q_low, madd(d, num(x, -0.5), num(x, 1.457)), q);
}

Value* MathBuilder::sigmoid(Value* x) {
  if (is_f32(x)) return sigmoid32(x);
  // exp of the negative side only, which cannot overflow.
  Value* e = exp_any(b_.CreateFNeg(abs(x)));
  Value* is_negative = b_.CreateFCmpOLT(x, num(x, 0));
  return div(b_.CreateSelect(is_negative, e, num(x, 1)), plus(e, 1));
}

Value* MathBuilder::erf32(Value* x) {
  Value* a = abs(x);
  Value* small = madd(x, poly(kErfSmall32, mul(x, x)), x);
  Value* e = exp32_in_range(poly(kErfLarge32, at_least(at_most(a, 4), 0.9)));
  Value* large = sub(num(x, 1), e);
  Value* is_small = b_.CreateFCmpOLT(a, num(x, 0.9));
  return with_sign_of(b_.CreateSelect(is_small, small, large), x);
}

Value* MathBuilder::erf64(Value* x) {
  Value* a = abs(x);
  Value* small = madd(x, poly(kErfSmall64, mul(x, x)), x);
  Value* limited = at_most(a, 6);
  Value* t = div(plus(limited, -2.5), plus(limited, 2.5));
  Value* e = exp64(b_.CreateFNeg(mul(limited, limited)));
  Value* large = sub(num(x, 1), mul(e, poly(kErfLarge64, t)));
  Value* is_small = b_.CreateFCmpOLT(a, num(x, 1));
  return with_sign_of(b_.CreateSelect(is_small, small, large), x);
}

}  // namespace symtile::codegen
