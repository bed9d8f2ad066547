// Integers and bool: wrapping arithmetic, guarded division, saturating shifts, powers.

#include "symtile/backend/llvm/op_emitter.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// The scalar integer constant behind `value` (a splat counts), if there is one.
const llvm::APInt* constant_of(const Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant) return nullptr;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return number ? &number->getValue() : nullptr;
}

}  // namespace

Value* OpEmitter::unary_int(UnaryOp op, DType dtype, Value* a) {
  llvm::Type* type = a->getType();
  Value* zero = int_constant(type, 0);
  switch (op) {
    case UnaryOp::neg:
      return b_.CreateNeg(a);
    case UnaryOp::abs:
      if (!is_signed_int(dtype)) return a;
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case UnaryOp::sign: {
      Value* positive = b_.CreateZExt(b_.CreateICmpNE(a, zero), type);
      if (!is_signed_int(dtype)) return positive;
      return b_.CreateSelect(b_.CreateICmpSLT(a, zero), int_constant(type, -1), positive);
    }
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return a;
    case UnaryOp::bit_not:
      return b_.CreateNot(a);
    case UnaryOp::logical_not:
      return b_.CreateICmpEQ(a, zero);
    case UnaryOp::isnan:
    case UnaryOp::isinf:
      return llvm::Constant::getNullValue(shaped_like(b_.getInt1Ty(), a));
    default:
      SYMTILE_UNREACHABLE("'{}' of {}", name_of(op), name_of(dtype));
  }
}

Value* OpEmitter::compare_int(BinaryOp op, DType dtype, Value* a, Value* b) {
  const bool is_signed = is_signed_int(dtype);
  switch (op) {
    case BinaryOp::eq:
      return b_.CreateICmpEQ(a, b);
    case BinaryOp::ne:
      return b_.CreateICmpNE(a, b);
    case BinaryOp::lt:
      return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case BinaryOp::le:
      return is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case BinaryOp::gt:
      return is_signed ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
    default:
      return is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
  }
}

Value* OpEmitter::binary_int(BinaryOp op, DType dtype, Value* a, Value* b) {
  if (is_comparison(op)) return compare_int(op, dtype, a, b);
  const auto truth = [&](Value* v) { return b_.CreateICmpNE(v, int_constant(v->getType(), 0)); };
  const bool is_signed = is_signed_int(dtype);
  // bool computes like a one-bit integer whose sum saturates: 1 + 1 is x != 0 of 2.
  if (dtype == DType::boolean) {
    if (op == BinaryOp::add) return b_.CreateOr(a, b);
    if (op == BinaryOp::sub) return b_.CreateXor(a, b);
  }
  switch (op) {
    case BinaryOp::add:
      return b_.CreateAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateSub(a, b);
    case BinaryOp::mul:
      return b_.CreateMul(a, b);
    case BinaryOp::div:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
    case BinaryOp::fmod:
      return divide(op, dtype, a, b);
    case BinaryOp::pow: {
      llvm::Type* wide = shaped_like(b_.getInt64Ty(), a);
      Value* base = b_.CreateIntCast(a, wide, is_signed);
      Value* exponent = b_.CreateIntCast(b, wide, is_signed);
      Value* power = per_lane(int_power_function(b_.getInt64Ty(), is_signed), base, exponent);
      if (dtype == DType::boolean) return truth(power);
      return b_.CreateTrunc(power, a->getType());
    }
    case BinaryOp::min:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case BinaryOp::max:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    case BinaryOp::logical_and:
      return b_.CreateAnd(truth(a), truth(b));
    case BinaryOp::logical_or:
      return b_.CreateOr(truth(a), truth(b));
    case BinaryOp::logical_xor:
      return b_.CreateXor(truth(a), truth(b));
    case BinaryOp::bit_and:
      return b_.CreateAnd(a, b);
    case BinaryOp::bit_or:
      return b_.CreateOr(a, b);
    case BinaryOp::bit_xor:
      return b_.CreateXor(a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(op, dtype, a, b);
    default:
      SYMTILE_UNREACHABLE("'{}' of {}", name_of(op), name_of(dtype));
  }
}

Value* OpEmitter::floor_divide_non_negative(BinaryOp op, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  const bool quotient = op == BinaryOp::floordiv || op == BinaryOp::div;
  const llvm::APInt* divisor = constant_of(b);
  if (divisor && !divisor->isZero()) {
    return quotient ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  }
  Value* zero = int_constant(type, 0);
  Value* by_zero = b_.CreateICmpEQ(b, zero);
  Value* safe = b_.CreateSelect(by_zero, int_constant(type, 1), b);
  Value* result = quotient ? b_.CreateUDiv(a, safe) : b_.CreateURem(a, safe);
  return b_.CreateSelect(by_zero, zero, result);
}

Value* OpEmitter::divide(BinaryOp op, DType dtype, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  if (!is_signed_int(dtype)) return floor_divide_non_negative(op, a, b);
  const bool quotient = op == BinaryOp::div || op == BinaryOp::floordiv;
  const bool floors = op == BinaryOp::floordiv || op == BinaryOp::floormod;
  Value* zero = int_constant(type, 0);
  const llvm::APInt* constant = constant_of(b);
  const bool harmless = constant && !constant->isZero() && !constant->isAllOnes();
  if (harmless && floors && constant->isPowerOf2()) {
    if (!quotient) return b_.CreateAnd(a, b_.CreateSub(b, int_constant(type, 1)));
    return b_.CreateAShr(a, int_constant(type, constant->logBase2()));
  }
  // 0 and -1 are divided as 1: the quotient of 0 becomes 0, that of -1 the wrapped negation.
  Value* by_zero = b_.CreateICmpEQ(b, zero);
  Value* by_minus_one = b_.CreateICmpEQ(b, int_constant(type, -1));
  Value* safe =
      harmless ? b : b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), int_constant(type, 1), b);
  Value* q = b_.CreateSDiv(a, safe);
  Value* r = b_.CreateSub(a, b_.CreateMul(q, safe));
  if (floors) {
    Value* negative = b_.CreateICmpSLT(b_.CreateXor(r, safe), zero);
    Value* adjust = b_.CreateAnd(b_.CreateICmpNE(r, zero), negative);
    if (quotient) {
      q = b_.CreateAdd(q, b_.CreateSExt(adjust, type));
    } else {
      r = b_.CreateAdd(r, b_.CreateSelect(adjust, safe, zero));
    }
  }
  if (harmless) return quotient ? q : r;
  if (!quotient) return r;
  Value* result = b_.CreateSelect(by_minus_one, b_.CreateNeg(a), q);
  return b_.CreateSelect(by_zero, zero, result);
}

Value* OpEmitter::shift(BinaryOp op, DType dtype, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  const unsigned width = type->getScalarSizeInBits();
  Value* zero = int_constant(type, 0);
  if (width == 1) {
    // A bool shifted by anything but 0 is 0.
    return b_.CreateAnd(a, b_.CreateNot(b));
  }
  Value* in_range = b_.CreateICmpULT(b, int_constant(type, width));
  if (op == BinaryOp::shr && is_signed_int(dtype)) {
    return b_.CreateAShr(a, b_.CreateSelect(in_range, b, int_constant(type, width - 1)));
  }
  Value* amount = b_.CreateSelect(in_range, b, zero);
  Value* shifted = op == BinaryOp::shl ? b_.CreateShl(a, amount) : b_.CreateLShr(a, amount);
  return b_.CreateSelect(in_range, shifted, zero);
}

}  // namespace symtile::codegen
