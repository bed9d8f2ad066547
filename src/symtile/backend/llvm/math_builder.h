// Elementary functions as LLVM IR on f32 or f64, scalars or vectors of any width.
//
// Nothing here calls a library. f32 exp, log, tanh, erf and sigmoid are computed in f32, sin and
// cos reduce their argument in f64; all of these are within 2 ulp over the whole range with and
// without fused multiply-add. Other f32 functions are the f64 ones rounded. NaN, infinities,
// denormals and signed zeros behave as in C. Everything is branch-free except for trigonometry of
// arguments beyond 2^20, which is rare, exact and one lane at a time. The coefficients come from
// scripts/derive_math_coefficients.py.
#pragma once

#include "symtile/backend/llvm/llvm_support.h"
#include "symtile/ir/expr.h"
#include "symtile/target/cpu_target.h"

namespace symtile::codegen {

class MathBuilder {
 public:
  using Value = llvm::Value;
  MathBuilder(Builder& builder, const CpuTarget& target) : b_(builder), target_(target) {}

  /// exp ... sigmoid; the operators that are one instruction are not here.
  Value* unary(UnaryOp op, Value* x);
  Value* pow(Value* x, Value* y);

 private:
  /// hi + lo, with lo below half an ulp of hi.
  struct Pair {
    Value* hi;
    Value* lo;
  };
  struct Reduced {
    Pair rest;        ///< in [-pi/4, pi/4]
    Value* quadrant;  ///< i64 lanes
  };

  // math_builder.cpp: arithmetic on either type and any number of lanes
  Value* num(Value* like, double v) { return float_constant(like->getType(), v); }
  Value* add(Value* a, Value* b) { return b_.CreateFAdd(a, b); }
  Value* sub(Value* a, Value* b) { return b_.CreateFSub(a, b); }
  Value* mul(Value* a, Value* b) { return b_.CreateFMul(a, b); }
  Value* div(Value* a, Value* b) { return b_.CreateFDiv(a, b); }
  Value* madd(Value* a, Value* b, Value* c);
  Value* scaled(Value* a, double factor) { return mul(a, num(a, factor)); }
  Value* plus(Value* a, double v) { return add(a, num(a, v)); }
  Value* sqrt(Value* a) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a); }
  Value* abs(Value* a) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }
  Value* with_sign_of(Value* a, Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, sign);
  }
  Value* infinity(Value* like) { return llvm::ConstantFP::getInfinity(like->getType()); }
  Value* nan(Value* like) { return llvm::ConstantFP::getNaN(like->getType()); }
  /// Clamps; NaN passes.
  Value* at_most(Value* a, double limit);
  Value* at_least(Value* a, double limit);
  template <size_t N>
  Value* poly(const double (&coefficients)[N], Value* x);
  llvm::Type* bits_type(Value* like);
  Value* to_bits(Value* a) { return b_.CreateBitCast(a, bits_type(a)); }
  bool is_f32(Value* a) { return a->getType()->getScalarType()->isFloatTy(); }
  /// The nearest integer of |a| < 2^(mantissa bits - 2), as a float and as an integer.
  Value* nearest(Value* a, Value** integer);
  /// 2^n for n in the range of normal exponents.
  Value* power_of_two(Value* n);
  /// a * 2^n, rounded once, for n of twice the exponent range.
  Value* scale_by(Value* a, Value* n);
  Pair two_sum(Value* a, Value* b);
  Pair quick_two_sum(Value* a, Value* b);
  Pair two_product(Value* a, Value* b);
  /// f computed in f64 and rounded.
  template <typename F>
  Value* in_double(Value* x, F&& f);

  // math_exp.cpp
  Value* exp32(Value* x);
  Value* exp32_in_range(Value* x);
  Value* exp64(Value* x, Value* low = nullptr);
  /// exp(x) / 2^n, and the same less 1, with `low` added to x.
  Value* exp_reduced(Value* x, Value* low, Value** n);
  Value* expm1_reduced(Value* x, Value* low, Value** n);
  Value* exp_any(Value* x) { return is_f32(x) ? exp32(x) : exp64(x); }
  Value* expm1(Value* x);
  Value* sinh(Value* x);
  Value* cosh(Value* x);
  Value* tanh32(Value* x);
  Value* tanh64(Value* x);
  Value* sigmoid(Value* x);
  Value* sigmoid32(Value* x);
  Value* erf32(Value* x);
  Value* erf64(Value* x);

  // math_log.cpp
  Value* split_mantissa(Value* x, Value** exponent);
  Value* log32(Value* x);
  Value* log64(Value* x);
  Value* log_special(Value* x, Value* result);
  Value* log1p(Value* x);
  Value* asinh(Value* x);
  Value* acosh(Value* x);
  Value* atanh(Value* x);
  Pair log_pair(Value* x);
  Value* pow64(Value* x, Value* y, bool precise);

  // math_trig.cpp
  Reduced reduce(Value* x);
  llvm::Function* huge_reduction();
  Value* sin_or_cos(Value* x, bool cosine);
  Value* tan(Value* x);
  Value* sin_kernel(const Pair& r);
  Value* cos_kernel(const Pair& r);
  Value* asin(Value* x);
  Value* acos(Value* x);
  Value* asin_part(Value* a, Value* is_small);
  Value* atan(Value* x);

  Builder& b_;
  const CpuTarget& target_;
};

template <size_t N>
llvm::Value* MathBuilder::poly(const double (&coefficients)[N], Value* x) {
  Value* sum = num(x, coefficients[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = madd(sum, x, num(x, coefficients[i]));
  return sum;
}

template <typename F>
llvm::Value* MathBuilder::in_double(Value* x, F&& f) {
  if (!is_f32(x)) return f(x);
  Value* wide = b_.CreateFPExt(x, shaped_like(b_.getDoubleTy(), x));
  return b_.CreateFPTrunc(f(wide), x->getType());
}

}  // namespace symtile::codegen
