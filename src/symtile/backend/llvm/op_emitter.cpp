#include "symtile/backend/llvm/op_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <limits>

#include "symtile/backend/llvm/math_builder.h"

namespace symtile::codegen {

using llvm::Value;

Value* OpEmitter::unary(UnaryOp op, DType dtype, Value* a) {
  return is_float(dtype) ? unary_float(op, dtype, a) : unary_int(op, dtype, a);
}

Value* OpEmitter::binary(BinaryOp op, DType dtype, Value* a, Value* b) {
  SYMTILE_CHECK(a->getType() == b->getType(), "operands of '{}' differ in type", name_of(op));
  if (!is_float(dtype)) return binary_int(op, dtype, a, b);
  return binary_float(op, a, b);
}

Value* OpEmitter::unary_float(UnaryOp op, DType dtype, Value* a) {
  llvm::Type* type = a->getType();
  const auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case UnaryOp::neg:
      return b_.CreateFNeg(a);
    case UnaryOp::abs:
      return intrinsic(llvm::Intrinsic::fabs);
    case UnaryOp::sign: {
      Value* zero = float_constant(type, 0);
      Value* below = b_.CreateSelect(b_.CreateFCmpOLT(a, zero), float_constant(type, -1), zero);
      Value* sign = b_.CreateSelect(b_.CreateFCmpOGT(a, zero), float_constant(type, 1), below);
      return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, sign);
    }
    case UnaryOp::floor:
      return intrinsic(llvm::Intrinsic::floor);
    case UnaryOp::ceil:
      return intrinsic(llvm::Intrinsic::ceil);
    case UnaryOp::round:
      return intrinsic(llvm::Intrinsic::roundeven);
    case UnaryOp::trunc:
      return intrinsic(llvm::Intrinsic::trunc);
    case UnaryOp::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case UnaryOp::isnan:
      return b_.CreateFCmpUNO(a, a);
    case UnaryOp::isinf:
      return b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs),
                              llvm::ConstantFP::getInfinity(type));
    case UnaryOp::bit_not:
    case UnaryOp::logical_not:
      SYMTILE_UNREACHABLE("'{}' of {}", name_of(op), name_of(dtype));
    default:
      return MathBuilder(b_, target_).unary(op, a);
  }
}

Value* OpEmitter::compare_float(BinaryOp op, Value* a, Value* b) {
  switch (op) {
    case BinaryOp::eq:
      return b_.CreateFCmpOEQ(a, b);
    case BinaryOp::ne:
      return b_.CreateFCmpUNE(a, b);
    case BinaryOp::lt:
      return b_.CreateFCmpOLT(a, b);
    case BinaryOp::le:
      return b_.CreateFCmpOLE(a, b);
    case BinaryOp::gt:
      return b_.CreateFCmpOGT(a, b);
    default:
      return b_.CreateFCmpOGE(a, b);
  }
}

Value* OpEmitter::min_max_float(BinaryOp op, Value* a, Value* b) {
  const bool is_max = op == BinaryOp::max;
  if (target_.level == CpuLevel::armv8) {
    return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a,
                                    b);
  }
  // On x86 the select below is one maxps/minps, which returns its second source (a) when the
  // operands are unordered; so only a NaN in b needs care, and a constant is never NaN.
  if (llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  Value* better = is_max ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOLT(b, a);
  Value* result = b_.CreateSelect(better, b, a);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  if (constant) {
    const auto* splat = constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(splat);
    if (number && !number->isNaN()) return result;
  }
  return b_.CreateSelect(b_.CreateFCmpUNO(b, b), b, result);
}

Value* OpEmitter::floor_mod_float(Value* a, Value* b) {
  llvm::Type* type = a->getType();
  Value* zero = float_constant(type, 0);
  Value* rest = per_lane(fmod_function(type->getScalarType()), a, b);
  Value* signs_differ = b_.CreateXor(b_.CreateFCmpOLT(rest, zero), b_.CreateFCmpOLT(b, zero));
  Value* moved = b_.CreateSelect(signs_differ, b_.CreateFAdd(rest, b), rest);
  Value* signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, b);
  return b_.CreateSelect(b_.CreateFCmpOEQ(rest, zero), signed_zero, moved);
}

Value* OpEmitter::binary_float(BinaryOp op, Value* a, Value* b) {
  if (is_comparison(op)) return compare_float(op, a, b);
  const auto truth = [&](Value* v) { return b_.CreateFCmpUNE(v, float_constant(v->getType(), 0)); };
  switch (op) {
    case BinaryOp::add:
      return b_.CreateFAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateFSub(a, b);
    case BinaryOp::mul:
      return b_.CreateFMul(a, b);
    case BinaryOp::div:
      return b_.CreateFDiv(a, b);
    case BinaryOp::floordiv:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b));
    case BinaryOp::floormod:
      return floor_mod_float(a, b);
    case BinaryOp::fmod:
      return per_lane(fmod_function(a->getType()->getScalarType()), a, b);
    case BinaryOp::pow:
      return MathBuilder(b_, target_).pow(a, b);
    case BinaryOp::min:
    case BinaryOp::max:
      return min_max_float(op, a, b);
    case BinaryOp::logical_and:
      return b_.CreateAnd(truth(a), truth(b));
    case BinaryOp::logical_or:
      return b_.CreateOr(truth(a), truth(b));
    case BinaryOp::logical_xor:
      return b_.CreateXor(truth(a), truth(b));
    default:
      SYMTILE_UNREACHABLE("'{}' of floats", name_of(op));
  }
}

Value* OpEmitter::by_register(Value* a, Value* b, Value* acc, const RegisterDot& dot) {
  const int lanes = static_cast<int>(lane_count(acc));
  const int native = target_.lanes(4);
  Value* out = nullptr;
  for (int first = 0; first < lanes; first += native) {
    llvm::SmallVector<int, 16> picks;
    for (int i = 0; i < native; ++i) picks.push_back(first + i);
    const auto part = [&](Value* v) { return b_.CreateShuffleVector(v, picks); };
    Value* sum = dot(part(a), part(b), part(acc));
    if (lanes == native) return sum;
    // Into its place in the whole.
    llvm::SmallVector<int, 64> widen, place;
    for (int i = 0; i < lanes; ++i) {
      const bool mine = i >= first && i < first + native;
      widen.push_back(mine ? i - first : 0);
      place.push_back(mine ? lanes + i : i);
    }
    Value* wide = b_.CreateShuffleVector(sum, widen);
    out = out ? b_.CreateShuffleVector(out, wide, place) : wide;
  }
  return out;
}

/// Whether the lanes fill registers for which this CPU has x86's products of words.
bool OpEmitter::fills_registers(Value* v) const {
  const int native = target_.lanes(4), lanes = static_cast<int>(lane_count(v));
  return target_.level != CpuLevel::armv8 && lanes >= native && lanes % native == 0;
}

Value* OpEmitter::pair_dot(Value* a, Value* b, Value* acc) {
  if (!fills_registers(acc)) {
    Value* bits = int_constant(acc->getType(), 16);
    const auto low = [&](Value* v) { return b_.CreateAShr(b_.CreateShl(v, bits), bits); };
    const auto high = [&](Value* v) { return b_.CreateAShr(v, bits); };
    Value* products = b_.CreateAdd(b_.CreateMul(low(a), low(b)), b_.CreateMul(high(a), high(b)));
    return b_.CreateAdd(acc, products);
  }
  const int native = target_.lanes(4);
  const size_t size = native == 16 ? 2 : (native == 8 ? 1 : 0);
  static constexpr llvm::Intrinsic::ID dots[] = {llvm::Intrinsic::x86_avx512_vpdpwssd_128,
                                                 llvm::Intrinsic::x86_avx512_vpdpwssd_256,
                                                 llvm::Intrinsic::x86_avx512_vpdpwssd_512};
  static constexpr llvm::Intrinsic::ID products[] = {llvm::Intrinsic::x86_sse2_pmadd_wd,
                                                     llvm::Intrinsic::x86_avx2_pmadd_wd,
                                                     llvm::Intrinsic::x86_avx512_pmaddw_d_512};
  llvm::Type* halves =
      llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * native));
  return by_register(a, b, acc, [&](Value* x, Value* y, Value* sum) -> Value* {
    if (target_.has_dot) return b_.CreateIntrinsic(dots[size], {}, {sum, x, y});
    Value* product = b_.CreateIntrinsic(products[size], {},
                                        {b_.CreateBitCast(x, halves), b_.CreateBitCast(y, halves)});
    return b_.CreateAdd(sum, product);
  });
}

Value* OpEmitter::quad_dot(Value* a, Value* b, Value* acc) {
  if (!target_.has_dot || !fills_registers(acc)) {
    const auto constant = [&](int64_t v) { return int_constant(acc->getType(), v); };
    for (int j = 0; j < 4; ++j) {
      Value* u = b_.CreateAnd(b_.CreateLShr(a, constant(8 * j)), constant(255));
      Value* s = b_.CreateAShr(b_.CreateShl(b, constant(24 - 8 * j)), constant(24));
      acc = b_.CreateAdd(acc, b_.CreateMul(u, s));
    }
    return acc;
  }
  static constexpr llvm::Intrinsic::ID dots[] = {llvm::Intrinsic::x86_avx512_vpdpbusd_128,
                                                 llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                                                 llvm::Intrinsic::x86_avx512_vpdpbusd_512};
  const int native = target_.lanes(4);
  const size_t size = native == 16 ? 2 : (native == 8 ? 1 : 0);
  return by_register(a, b, acc, [&](Value* x, Value* y, Value* sum) -> Value* {
    return b_.CreateIntrinsic(dots[size], {}, {sum, x, y});
  });
}

Value* OpEmitter::multiply_add(Value* a, Value* b, Value* acc) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {acc->getType()}, {a, b, acc});
}

llvm::Constant* OpEmitter::identity(BinaryOp op, DType dtype) {
  llvm::Type* type = compute_type(b_.getContext(), dtype);
  if (is_float(dtype)) {
    switch (op) {
      // -0 and not 0: adding it changes no value at all.
      case BinaryOp::add:
        return llvm::ConstantFP::getNegativeZero(type);
      case BinaryOp::mul:
        return float_constant(type, 1);
      case BinaryOp::min:
        return llvm::ConstantFP::getInfinity(type);
      case BinaryOp::max:
        return llvm::ConstantFP::getInfinity(type, true);
      default:
        SYMTILE_UNREACHABLE("'{}' is not a reduction of floats", name_of(op));
    }
  }
  const unsigned bits = type->getIntegerBitWidth();
  const bool is_signed = is_signed_int(dtype);
  const auto value = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(type, v); };
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::logical_or:
    case BinaryOp::logical_xor:
      return value(llvm::APInt::getZero(bits));
    case BinaryOp::mul:
      return value(llvm::APInt(bits, 1));
    case BinaryOp::bit_and:
    case BinaryOp::logical_and:
      return value(llvm::APInt::getAllOnes(bits));
    case BinaryOp::min:
      return value(is_signed ? llvm::APInt::getSignedMaxValue(bits)
                             : llvm::APInt::getMaxValue(bits));
    case BinaryOp::max:
      return value(is_signed ? llvm::APInt::getSignedMinValue(bits)
                             : llvm::APInt::getMinValue(bits));
    default:
      SYMTILE_UNREACHABLE("'{}' is not a reduction", name_of(op));
  }
}

Value* OpEmitter::combine_lanes(BinaryOp op, DType dtype, Value* vector) {
  unsigned lanes = lane_count(vector);
  if (lanes == 0) return vector;
  unsigned padded = 1;
  while (padded < lanes) padded *= 2;
  if (padded != lanes) {
    Value* neutral = b_.CreateVectorSplat(lanes, identity(op, dtype));
    llvm::SmallVector<int, 64> mask;
    for (unsigned i = 0; i < padded; ++i) mask.push_back(static_cast<int>(i < lanes ? i : lanes));
    vector = b_.CreateShuffleVector(vector, neutral, mask);
    lanes = padded;
  }
  // LLVM 19 finds the halving below in sums of products of bytes, makes a vpdpbusd of them and
  // forgets the last steps; its own form of the sum it gets right.
  if (op == BinaryOp::add && is_int(dtype)) return b_.CreateAddReduce(vector);
  for (; lanes > 1; lanes /= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (unsigned i = 0; i < lanes / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + lanes / 2));
    }
    Value* a = b_.CreateShuffleVector(vector, low);
    Value* b = b_.CreateShuffleVector(vector, high);
    vector = binary(op, dtype, a, b);
  }
  return b_.CreateExtractElement(vector, uint64_t{0});
}

Value* OpEmitter::per_lane(llvm::Function* function, Value* a, Value* b) {
  const unsigned lanes = lane_count(a);
  if (lanes == 0) return b_.CreateCall(function, {a, b});
  Value* out = llvm::PoisonValue::get(a->getType());
  for (uint64_t i = 0; i < lanes; ++i) {
    Value* lane =
        b_.CreateCall(function, {b_.CreateExtractElement(a, i), b_.CreateExtractElement(b, i)});
    out = b_.CreateInsertElement(out, lane, i);
  }
  return out;
}

}  // namespace symtile::codegen
