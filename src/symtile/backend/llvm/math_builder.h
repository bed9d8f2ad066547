// Elementary functions as branch-free LLVM IR on f32 or f64, scalars or vectors of any width.
//
// Nothing here calls a library. f32 exp, log, tanh, erf and sigmoid are computed in f32, sin and
// cos reduce their argument in f64; all of these are within 2 ulp over the whole range with and
// without fused multiply-add. Other f32 functions are the f64 ones rounded. NaN, infinities,
// denormals and signed zeros behave as in C. The coefficients come from
// scripts/derive_math_coefficients.py.
#pragma once

#include "symtile/backend/llvm/llvm_support.h"
#include "symtile/ir/expr.h"
#include "symtile/target/cpu_target.h"

namespace symtile::codegen {

class MathBuilder {
 public:
  MathBuilder(Builder& builder, const CpuTarget& target) : b_(builder), target_(target) {}

  /// exp ... sigmoid; the operators that are one instruction are not here.
  llvm::Value* unary(UnaryOp op, llvm::Value* x);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);

 private:
  Builder& b_;
  const CpuTarget& target_;
};

}  // namespace symtile::codegen
