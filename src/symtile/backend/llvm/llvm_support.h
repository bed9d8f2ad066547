// Small helpers over llvm::IRBuilder that treat a scalar and a vector alike: everything that
// emits arithmetic works on `T` or `<L x T>` and never asks which.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cstdint>

#include "symtile/base/check.h"
#include "symtile/base/dtype.h"

namespace symtile::codegen {

using Builder = llvm::IRBuilder<>;

/// Number of lanes of a value's type; 0 for a scalar.
inline unsigned lane_count(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? vector->getNumElements() : 0;
}
inline unsigned lane_count(const llvm::Value* value) { return lane_count(value->getType()); }

/// `scalar` or a vector of it, with as many lanes as `like` has.
inline llvm::Type* shaped_like(llvm::Type* scalar, const llvm::Type* like) {
  const unsigned lanes = lane_count(like);
  return lanes ? llvm::FixedVectorType::get(scalar, lanes) : scalar;
}
inline llvm::Type* shaped_like(llvm::Type* scalar, const llvm::Value* like) {
  return shaped_like(scalar, like->getType());
}

/// `type` with `lanes` lanes; 1 lane is the scalar itself.
inline llvm::Type* with_lanes(llvm::Type* scalar, int lanes) {
  return lanes > 1 ? llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes)) : scalar;
}

inline llvm::Constant* float_constant(llvm::Type* type, double value) {
  return llvm::ConstantFP::get(type, value);
}
inline llvm::Constant* int_constant(llvm::Type* type, int64_t value) {
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), true);
}

/// A value in all lanes.
inline llvm::Value* broadcast(Builder& b, llvm::Value* value, int lanes) {
  if (lanes <= 1 || lane_count(value)) return value;
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

/// The type in which a dtype is computed: f16 and bf16 in f32, bool as one bit.
inline llvm::Type* compute_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return llvm::Type::getDoubleTy(context);
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return llvm::Type::getFloatTy(context);
    case DType::boolean:
      return llvm::Type::getInt1Ty(context);
    default:
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(dtype)));
  }
}

/// The type in which a dtype lies in memory: 16-bit floats as i16, bool as i8.
inline llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f64) return compute_type(context, dtype);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(dtype)));
}

}  // namespace symtile::codegen
