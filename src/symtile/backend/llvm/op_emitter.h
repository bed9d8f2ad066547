// The scalar operators of tile expressions as LLVM IR, on scalars and vectors alike.
//
// Meaning is that of ir/scalar_ops.def to the letter: no trap, no poison and no library call for
// any operand. Integer division guards its divisor, shifts saturate, float to int conversions
// saturate, min and max propagate NaN. Operands must have one shape; the caller broadcasts.
#pragma once

#include "symtile/backend/llvm/llvm_support.h"
#include "symtile/ir/expr.h"
#include "symtile/target/cpu_target.h"

namespace symtile::codegen {

class OpEmitter {
 public:
  OpEmitter(Builder& builder, const CpuTarget& target) : b_(builder), target_(target) {}

  llvm::Value* unary(UnaryOp op, DType dtype, llvm::Value* a);
  llvm::Value* binary(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(DType from, DType to, llvm::Value* a);
  /// floordiv and floormod of operands known to be >= 0.
  llvm::Value* floor_divide_non_negative(BinaryOp op, llvm::Value* a, llvm::Value* b);

  /// Between the memory and the compute form of a dtype.
  llvm::Value* from_memory(DType dtype, llvm::Value* raw);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);
  /// The value a 16-bit float has after it was stored and loaded; other dtypes unchanged.
  llvm::Value* round_to_storage(DType dtype, llvm::Value* value);

  /// acc + a * b, fused where that is fast.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* acc);
  /// acc + the products of the two i16 halves of the i32 lanes of a and b.
  llvm::Value* pair_dot(llvm::Value* a, llvm::Value* b, llvm::Value* acc);
  /// acc + the products of the four bytes of the i32 lanes of a, unsigned, and b, signed.
  llvm::Value* quad_dot(llvm::Value* a, llvm::Value* b, llvm::Value* acc);
  /// The neutral element of a reduction operator (add, mul, min, max, and/or/xor forms).
  llvm::Constant* identity(BinaryOp op, DType dtype);
  /// All lanes combined with a reduction operator, in a tree.
  llvm::Value* combine_lanes(BinaryOp op, DType dtype, llvm::Value* vector);

 private:
  llvm::Value* unary_float(UnaryOp op, DType dtype, llvm::Value* a);
  llvm::Value* unary_int(UnaryOp op, DType dtype, llvm::Value* a);
  llvm::Value* binary_float(BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* binary_int(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare_float(BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare_int(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* min_max_float(BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* floor_mod_float(llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* shift(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* half_to_float(llvm::Value* bits);
  llvm::Value* float_to_half(llvm::Value* value);
  llvm::Value* float_to_bfloat(llvm::Value* value);
  llvm::Value* double_to_odd_float(llvm::Value* value);
  llvm::Value* int_to_sticky_double(DType from, llvm::Value* value);
  /// Applies a scalar function of the module lane by lane.
  llvm::Value* per_lane(llvm::Function* function, llvm::Value* a, llvm::Value* b);
  llvm::Function* fmod_function(llvm::Type* scalar);
  llvm::Function* int_power_function(llvm::Type* scalar, bool is_signed);
  bool has_half_conversions() const;
  /// dot(a, b, acc) for each register of a vector of i32: its intrinsics have fixed widths.
  using RegisterDot = std::function<llvm::Value*(llvm::Value*, llvm::Value*, llvm::Value*)>;
  llvm::Value* by_register(llvm::Value* a, llvm::Value* b, llvm::Value* acc,
                           const RegisterDot& dot);
  bool fills_registers(llvm::Value* v) const;

  Builder& b_;
  const CpuTarget& target_;
};

}  // namespace symtile::codegen
