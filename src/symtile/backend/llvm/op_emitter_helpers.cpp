// Operators that need a loop of unknown length: integer powers and the exact remainder of floats.
// They are internal functions of the kernel's module, called lane by lane: rare, and exact.

#include "symtile/backend/llvm/op_emitter.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// An internal function T(T, T) compiled for the same CPU as the kernel under construction.
llvm::Function* create_helper(Builder& b, const char* name, llvm::Type* scalar) {
  llvm::Function* kernel = b.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b.getContext();
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(scalar, {scalar, scalar}, false),
                             llvm::Function::InternalLinkage, name, kernel->getParent());
  const llvm::AttrBuilder attributes(context, kernel->getAttributes().getFnAttrs());
  function->setAttributes(
      llvm::AttributeList::get(context, llvm::AttributeList::FunctionIndex, attributes));
  return function;
}

}  // namespace

llvm::Function* OpEmitter::int_power_function(llvm::Type* scalar, bool is_signed) {
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  const char* name = is_signed ? "power_signed" : "power_unsigned";
  if (llvm::Function* known = module->getFunction(name)) return known;
  llvm::LLVMContext& context = b_.getContext();
  llvm::Function* function = create_helper(b_, name, scalar);
  Builder b(llvm::BasicBlock::Create(context, "entry", function));
  llvm::BasicBlock* entry = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  Value* base = function->getArg(0);
  Value* exponent = function->getArg(1);
  Value* zero = int_constant(scalar, 0);
  Value* one = int_constant(scalar, 1);
  b.CreateCondBr(b.CreateICmpEQ(exponent, zero), done, loop);

  b.SetInsertPoint(loop);
  auto* power = b.CreatePHI(scalar, 2);
  auto* factor = b.CreatePHI(scalar, 2);
  auto* rest = b.CreatePHI(scalar, 2);
  Value* is_odd = b.CreateICmpNE(b.CreateAnd(rest, one), zero);
  Value* next_power = b.CreateSelect(is_odd, b.CreateMul(power, factor), power);
  Value* next_factor = b.CreateMul(factor, factor);
  Value* next_rest = b.CreateLShr(rest, one);
  b.CreateCondBr(b.CreateICmpEQ(next_rest, zero), done, loop);
  power->addIncoming(one, entry);
  power->addIncoming(next_power, loop);
  factor->addIncoming(base, entry);
  factor->addIncoming(next_factor, loop);
  rest->addIncoming(exponent, entry);
  rest->addIncoming(next_rest, loop);

  b.SetInsertPoint(done);
  auto* result = b.CreatePHI(scalar, 2);
  result->addIncoming(one, entry);
  result->addIncoming(next_power, loop);
  Value* out = result;
  if (is_signed) {
    // trunc(pow) of a negative exponent: 1, -1 or 0.
    Value* odd_sign = b.CreateSelect(b.CreateICmpNE(b.CreateAnd(exponent, one), zero),
                                     int_constant(scalar, -1), one);
    Value* small = b.CreateSelect(b.CreateICmpEQ(base, one), one, zero);
    small = b.CreateSelect(b.CreateICmpEQ(base, int_constant(scalar, -1)), odd_sign, small);
    out = b.CreateSelect(b.CreateICmpSLT(exponent, zero), small, out);
  }
  b.CreateRet(out);
  return function;
}

llvm::Function* OpEmitter::fmod_function(llvm::Type* scalar) {
  const bool is_double = scalar->isDoubleTy();
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  const char* name = is_double ? "remainder_f64" : "remainder_f32";
  if (llvm::Function* known = module->getFunction(name)) return known;
  llvm::LLVMContext& context = b_.getContext();
  llvm::Function* function = create_helper(b_, name, scalar);
  Builder b(llvm::BasicBlock::Create(context, "entry", function));
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  // Everything happens on mantissas as 64-bit integers: x = mx * 2^ex, y = my * 2^ey with
  // ex >= ey, and mx is shifted up step bits at a time modulo my.
  llvm::Type* word = b.getInt64Ty();
  const int mantissa_bits = is_double ? 52 : 23;
  const int step = 63 - mantissa_bits;
  const auto constant = [&](int64_t v) { return int_constant(word, v); };
  const int64_t infinity = is_double ? 0x7ff0000000000000 : 0x7f800000;
  const int64_t sign_mask = is_double ? INT64_MIN : int64_t{0x80000000};
  llvm::Type* bits_type = is_double ? word : b.getInt32Ty();
  const auto bits_of = [&](Value* v) { return b.CreateZExt(b.CreateBitCast(v, bits_type), word); };
  Value* x_bits = bits_of(function->getArg(0));
  Value* sign = b.CreateAnd(x_bits, constant(sign_mask));
  Value* ax = b.CreateAnd(x_bits, constant(~sign_mask));
  Value* ay = b.CreateAnd(bits_of(function->getArg(1)), constant(~sign_mask));
  const auto split = [&](Value* a, Value** exponent) {
    Value* raw = b.CreateLShr(a, constant(mantissa_bits));
    Value* fraction = b.CreateAnd(a, constant((int64_t{1} << mantissa_bits) - 1));
    Value* is_normal = b.CreateICmpNE(raw, constant(0));
    *exponent = b.CreateSelect(is_normal, raw, constant(1));
    return b.CreateSelect(is_normal, b.CreateOr(fraction, constant(int64_t{1} << mantissa_bits)),
                          fraction);
  };
  Value *ex, *ey;
  Value* mx = split(ax, &ex);
  Value* my_or_zero = split(ay, &ey);
  Value* y_is_zero = b.CreateICmpEQ(ay, constant(0));
  Value* my = b.CreateSelect(y_is_zero, constant(1), my_or_zero);
  Value* smaller = b.CreateICmpULT(ax, ay);
  Value* start = b.CreateURem(mx, my);
  Value* distance = b.CreateSelect(smaller, constant(0), b.CreateSub(ex, ey));
  b.CreateCondBr(b.CreateICmpSGT(distance, constant(0)), loop, done);
  llvm::BasicBlock* entry = &function->getEntryBlock();

  b.SetInsertPoint(loop);
  auto* rest = b.CreatePHI(word, 2);
  auto* left = b.CreatePHI(word, 2);
  Value* shift = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, constant(step));
  Value* next_rest = b.CreateURem(b.CreateShl(rest, shift), my);
  Value* next_left = b.CreateSub(left, shift);
  b.CreateCondBr(b.CreateICmpSGT(next_left, constant(0)), loop, done);
  rest->addIncoming(start, entry);
  rest->addIncoming(next_rest, loop);
  left->addIncoming(distance, entry);
  left->addIncoming(next_left, loop);

  b.SetInsertPoint(done);
  auto* mantissa = b.CreatePHI(word, 2);
  mantissa->addIncoming(start, entry);
  mantissa->addIncoming(next_rest, loop);
  // Back to a float: normalise, but not below the smallest exponent.
  Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mantissa, b.getFalse());
  Value* lift = b.CreateSub(zeros, constant(63 - mantissa_bits));
  lift = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lift, b.CreateSub(ey, constant(1)));
  Value* lifted = b.CreateShl(mantissa, lift);
  Value* exponent = b.CreateSub(ey, lift);
  Value* is_normal = b.CreateICmpUGE(lifted, constant(int64_t{1} << mantissa_bits));
  Value* packed =
      b.CreateSelect(is_normal,
                     b.CreateAdd(b.CreateSub(lifted, constant(int64_t{1} << mantissa_bits)),
                                 b.CreateShl(exponent, constant(mantissa_bits))),
                     lifted);
  packed = b.CreateSelect(b.CreateICmpEQ(mantissa, constant(0)), constant(0), packed);
  packed = b.CreateSelect(smaller, ax, packed);
  Value* invalid = b.CreateOr(b.CreateICmpUGE(ax, constant(infinity)),
                              b.CreateOr(y_is_zero, b.CreateICmpUGT(ay, constant(infinity))));
  packed = b.CreateOr(packed, sign);
  Value* result = b.CreateBitCast(b.CreateTrunc(packed, bits_type), scalar);
  b.CreateRet(b.CreateSelect(invalid, llvm::ConstantFP::getNaN(scalar), result));
  return function;
}

}  // namespace symtile::codegen
