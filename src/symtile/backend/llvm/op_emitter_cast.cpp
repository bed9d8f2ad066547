// Conversions: between dtypes, and between the memory and the compute form of one dtype.
// 16-bit floats are converted by F16C or NEON where the CPU has it, else by integer arithmetic.

#include "symtile/backend/llvm/op_emitter.h"

namespace symtile::codegen {

using llvm::Value;

bool OpEmitter::has_half_conversions() const { return target_.level != CpuLevel::x86_64_v2; }

Value* OpEmitter::half_to_float(Value* bits) {
  llvm::Type* f32 = shaped_like(b_.getFloatTy(), bits);
  if (has_half_conversions()) {
    return b_.CreateFPExt(b_.CreateBitCast(bits, shaped_like(b_.getHalfTy(), bits)), f32);
  }
  llvm::Type* i32 = shaped_like(b_.getInt32Ty(), bits);
  const auto constant = [&](int64_t v) { return int_constant(i32, v); };
  Value* wide = b_.CreateZExt(bits, i32);
  Value* sign = b_.CreateShl(b_.CreateAnd(wide, constant(0x8000)), constant(16));
  Value* magnitude = b_.CreateAnd(wide, constant(0x7fff));
  Value* shifted = b_.CreateShl(magnitude, constant(13));
  Value* normal = b_.CreateAdd(shifted, constant(112 << 23));
  Value* is_special = b_.CreateICmpUGE(magnitude, constant(0x7c00));
  Value* special = b_.CreateOr(shifted, constant(0x7f800000));
  // Subnormal: the integer itself, scaled by the weight of its last bit.
  Value* small = b_.CreateFMul(b_.CreateSIToFP(magnitude, f32), float_constant(f32, 0x1p-24));
  Value* is_small = b_.CreateICmpULT(magnitude, constant(0x0400));
  Value* result = b_.CreateSelect(is_special, special, normal);
  result = b_.CreateSelect(is_small, b_.CreateBitCast(small, i32), result);
  return b_.CreateBitCast(b_.CreateOr(result, sign), f32);
}

Value* OpEmitter::float_to_half(Value* value) {
  llvm::Type* i16 = shaped_like(b_.getInt16Ty(), value);
  if (has_half_conversions()) {
    return b_.CreateBitCast(b_.CreateFPTrunc(value, shaped_like(b_.getHalfTy(), value)), i16);
  }
  llvm::Type* i32 = shaped_like(b_.getInt32Ty(), value);
  const auto constant = [&](int64_t v) { return int_constant(i32, v); };
  Value* bits = b_.CreateBitCast(value, i32);
  Value* sign = b_.CreateLShr(b_.CreateAnd(bits, constant(0x80000000)), constant(16));
  Value* magnitude = b_.CreateAnd(bits, constant(0x7fffffff));
  Value* tie = b_.CreateAnd(b_.CreateLShr(magnitude, constant(13)), constant(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(magnitude, constant(0xfff)), tie);
  Value* result = b_.CreateLShr(b_.CreateSub(rounded, constant(0x38000000)), constant(13));
  // Subnormal: adding 0.5 aligns the mantissa so that the addition itself rounds.
  Value* aligned = b_.CreateFAdd(b_.CreateBitCast(magnitude, value->getType()),
                                 float_constant(value->getType(), 0.5));
  Value* small = b_.CreateSub(b_.CreateBitCast(aligned, i32), constant(0x3f000000));
  result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(0x38800000)), small, result);
  result =
      b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(0x477ff000)), constant(0x7c00), result);
  result =
      b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(0x7f800000)), constant(0x7e00), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), i16);
}

Value* OpEmitter::float_to_bfloat(Value* value) {
  llvm::Type* i32 = shaped_like(b_.getInt32Ty(), value);
  const auto constant = [&](int64_t v) { return int_constant(i32, v); };
  Value* bits = b_.CreateBitCast(value, i32);
  Value* top = b_.CreateLShr(bits, constant(16));
  Value* tie = b_.CreateAnd(top, constant(1));
  Value* rounded =
      b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, constant(0x7fff)), tie), constant(16));
  Value* nan = b_.CreateOr(top, constant(0x40));
  Value* result = b_.CreateSelect(b_.CreateFCmpUNO(value, value), nan, rounded);
  return b_.CreateTrunc(result, shaped_like(b_.getInt16Ty(), value));
}

Value* OpEmitter::from_memory(DType dtype, Value* raw) {
  switch (dtype) {
    case DType::f16:
      return half_to_float(raw);
    case DType::bf16: {
      llvm::Type* i32 = shaped_like(b_.getInt32Ty(), raw);
      Value* wide = b_.CreateShl(b_.CreateZExt(raw, i32), int_constant(i32, 16));
      return b_.CreateBitCast(wide, shaped_like(b_.getFloatTy(), raw));
    }
    case DType::boolean:
      return b_.CreateICmpNE(raw, int_constant(raw->getType(), 0));
    default:
      return raw;
  }
}

Value* OpEmitter::to_memory(DType dtype, Value* value) {
  switch (dtype) {
    case DType::f16:
      return float_to_half(value);
    case DType::bf16:
      return float_to_bfloat(value);
    case DType::boolean:
      return b_.CreateZExt(value, shaped_like(b_.getInt8Ty(), value));
    default:
      return value;
  }
}

Value* OpEmitter::round_to_storage(DType dtype, Value* value) {
  if (dtype != DType::f16 && dtype != DType::bf16) return value;
  return from_memory(dtype, to_memory(dtype, value));
}

Value* OpEmitter::double_to_odd_float(Value* value) {
  // Rounding to odd keeps a later rounding to a shorter format exact. Where the conversion moved
  // away from zero the mantissa steps back by one; then an inexact result gets an odd last bit.
  llvm::Type* f32 = shaped_like(b_.getFloatTy(), value);
  llvm::Type* i32 = shaped_like(b_.getInt32Ty(), value);
  Value* nearest = b_.CreateFPTrunc(value, f32);
  Value* back = b_.CreateFPExt(nearest, value->getType());
  const auto magnitude = [&](Value* v) {
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  };
  Value* went_up = b_.CreateFCmpOGT(magnitude(back), magnitude(value));
  Value* is_inexact = b_.CreateFCmpONE(back, value);
  Value* bits = b_.CreateBitCast(nearest, i32);
  Value* truncated = b_.CreateSub(bits, b_.CreateZExt(went_up, i32));
  return b_.CreateBitCast(b_.CreateOr(truncated, b_.CreateZExt(is_inexact, i32)), f32);
}

Value* OpEmitter::int_to_sticky_double(DType from, Value* value) {
  llvm::Type* type = value->getType();
  llvm::Type* f64 = shaped_like(b_.getDoubleTy(), value);
  const bool is_signed = is_signed_int(from);
  if (size_of(from) < 8) {
    return is_signed ? b_.CreateSIToFP(value, f64) : b_.CreateUIToFP(value, f64);
  }
  // Clear the bits a double cannot hold and keep a sticky one, so that only the last rounding
  // counts. Values below 2^53 pass unchanged.
  Value* magnitude =
      is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b_.getFalse()) : value;
  Value* low = b_.CreateAnd(magnitude, int_constant(type, 0x7ff));
  Value* sticky = b_.CreateSelect(b_.CreateICmpNE(low, int_constant(type, 0)),
                                  int_constant(type, 0x800), int_constant(type, 0));
  Value* rounded =
      b_.CreateOr(b_.CreateAnd(magnitude, int_constant(type, ~int64_t{0x7ff})), sticky);
  Value* is_large =
      b_.CreateICmpNE(b_.CreateLShr(magnitude, int_constant(type, 53)), int_constant(type, 0));
  Value* real = b_.CreateUIToFP(b_.CreateSelect(is_large, rounded, magnitude), f64);
  if (!is_signed) return real;
  Value* negative = b_.CreateICmpSLT(value, int_constant(type, 0));
  return b_.CreateSelect(negative, b_.CreateFNeg(real), real);
}

Value* OpEmitter::cast(DType from, DType to, Value* a) {
  if (from == to) return round_to_storage(to, a);
  llvm::Type* type = shaped_like(compute_type(b_.getContext(), to), a);
  if (is_float(from)) {
    if (to == DType::boolean) return b_.CreateFCmpUNE(a, float_constant(a->getType(), 0));
    if (!is_float(to)) {
      const auto id = is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
      return b_.CreateIntrinsic(id, {type, a->getType()}, {a});
    }
    if (from == DType::f64 && to != DType::f32) {
      return round_to_storage(to, double_to_odd_float(a));
    }
    return round_to_storage(to, b_.CreateFPCast(a, type));
  }
  if (to == DType::boolean) return b_.CreateICmpNE(a, int_constant(a->getType(), 0));
  const bool is_signed = is_signed_int(from);
  if (!is_float(to)) return b_.CreateIntCast(a, type, is_signed);
  if ((to == DType::f16 || to == DType::bf16) && size_of(from) >= 4) {
    return round_to_storage(to, double_to_odd_float(int_to_sticky_double(from, a)));
  }
  Value* real = is_signed ? b_.CreateSIToFP(a, type) : b_.CreateUIToFP(a, type);
  return round_to_storage(to, real);
}

}  // namespace symtile::codegen
