#include "symtile/backend/llvm/math_builder.h"

namespace symtile::codegen {

using llvm::Value;

Value* MathBuilder::unary(UnaryOp op, Value* x) {
  const auto wide = [&](auto member) {
    return in_double(x, [&](Value* v) { return (this->*member)(v); });
  };
  switch (op) {
    case UnaryOp::exp:
      return exp_any(x);
    case UnaryOp::expm1:
      return wide(&MathBuilder::expm1);
    case UnaryOp::log:
      return is_f32(x) ? log32(x) : log64(x);
    case UnaryOp::log1p:
      return wide(&MathBuilder::log1p);
    case UnaryOp::sin:
      return sin_or_cos(x, false);
    case UnaryOp::cos:
      return sin_or_cos(x, true);
    case UnaryOp::tan:
      return wide(&MathBuilder::tan);
    case UnaryOp::asin:
      return wide(&MathBuilder::asin);
    case UnaryOp::acos:
      return wide(&MathBuilder::acos);
    case UnaryOp::atan:
      return wide(&MathBuilder::atan);
    case UnaryOp::sinh:
      return wide(&MathBuilder::sinh);
    case UnaryOp::cosh:
      return wide(&MathBuilder::cosh);
    case UnaryOp::tanh:
      return is_f32(x) ? tanh32(x) : tanh64(x);
    case UnaryOp::asinh:
      return wide(&MathBuilder::asinh);
    case UnaryOp::acosh:
      return wide(&MathBuilder::acosh);
    case UnaryOp::atanh:
      return wide(&MathBuilder::atanh);
    case UnaryOp::erf:
      return is_f32(x) ? erf32(x) : erf64(x);
    case UnaryOp::sigmoid:
      return sigmoid(x);
    default:
      SYMTILE_UNREACHABLE("'{}' is not an elementary function", name_of(op));
  }
}

Value* MathBuilder::madd(Value* a, Value* b, Value* c) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

Value* MathBuilder::at_most(Value* a, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOGT(a, num(a, limit)), num(a, limit), a);
}

Value* MathBuilder::at_least(Value* a, double limit) {
  return b_.CreateSelect(b_.CreateFCmpOLT(a, num(a, limit)), num(a, limit), a);
}

llvm::Type* MathBuilder::bits_type(Value* like) {
  return shaped_like(is_f32(like) ? b_.getInt32Ty() : b_.getInt64Ty(), like);
}

Value* MathBuilder::nearest(Value* a, Value** integer) {
  // Adding 1.5 * 2^(mantissa bits) leaves the integer in the low mantissa bits.
  Value* shift = num(a, is_f32(a) ? 0x1.8p23 : 0x1.8p52);
  Value* shifted = add(a, shift);
  *integer = b_.CreateSub(to_bits(shifted), b_.CreateBitCast(shift, bits_type(a)));
  return sub(shifted, shift);
}

Value* MathBuilder::power_of_two(Value* n) {
  const bool narrow = n->getType()->getScalarSizeInBits() == 32;
  llvm::Type* type = shaped_like(narrow ? b_.getFloatTy() : b_.getDoubleTy(), n);
  Value* biased = b_.CreateAdd(n, int_constant(n->getType(), narrow ? 127 : 1023));
  return b_.CreateBitCast(b_.CreateShl(biased, int_constant(n->getType(), narrow ? 23 : 52)), type);
}

Value* MathBuilder::scale_by(Value* a, Value* n) {
  // In two steps, the first of which stays normal: one rounding even when the result does not.
  Value* half = b_.CreateAShr(n, int_constant(n->getType(), 1));
  return mul(mul(a, power_of_two(half)), power_of_two(b_.CreateSub(n, half)));
}

MathBuilder::Pair MathBuilder::two_sum(Value* a, Value* b) {
  Value* sum = add(a, b);
  Value* b_part = sub(sum, a);
  Value* a_part = sub(sum, b_part);
  return {sum, add(sub(a, a_part), sub(b, b_part))};
}

MathBuilder::Pair MathBuilder::quick_two_sum(Value* a, Value* b) {
  Value* sum = add(a, b);
  return {sum, sub(b, sub(sum, a))};
}

MathBuilder::Pair MathBuilder::two_product(Value* a, Value* b) {
  Value* product = mul(a, b);
  if (target_.has_fma) {
    return {product, b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()},
                                        {a, b, b_.CreateFNeg(product)})};
  }
  // Veltkamp's splitting into halves whose products are exact.
  const auto halves = [&](Value* v) {
    Value* big = scaled(v, 134217729.0);
    Value* high = sub(big, sub(big, v));
    return Pair{high, sub(v, high)};
  };
  const Pair x = halves(a), y = halves(b);
  Value* error = sub(mul(x.hi, y.hi), product);
  error = add(error, mul(x.hi, y.lo));
  error = add(error, mul(x.lo, y.hi));
  return {product, add(error, mul(x.lo, y.lo))};
}

}  // namespace symtile::codegen
