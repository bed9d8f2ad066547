// sin, cos, tan and the inverse functions.
//
// Arguments up to 2^20 are reduced with pi/2 in parts whose multiples are exact. Larger ones go
// through 192 bits of 2/pi (Payne and Hanek), chosen by the exponent: an internal function that
// is called lane by lane, and only when some lane needs it.

#include "symtile/backend/llvm/math_builder.h"
#include "symtile/backend/llvm/math_coefficients.h"

namespace symtile::codegen {

using llvm::Value;

namespace {
constexpr double kLargest = 0x1p20;
constexpr double kTwoOverPiFloat = 0x1.45f306dc9c883p-1;
constexpr double kTanEighth = 0x1.a827999fcef32p-2;        // tan(pi/8)
constexpr double kTanThreeEighths = 0x1.3504f333f9de6p+1;  // tan(3pi/8)
}  // namespace

llvm::Function* MathBuilder::huge_reduction() {
  llvm::Function* kernel = b_.GetInsertBlock()->getParent();
  llvm::Module* module = kernel->getParent();
  const char* name = "reduce_by_half_pi";
  if (llvm::Function* known = module->getFunction(name)) return known;
  llvm::LLVMContext& context = b_.getContext();
  llvm::Type* f64 = b_.getDoubleTy();
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* i128 = b_.getInt128Ty();
  auto* result_type = llvm::StructType::get(context, {f64, f64, i64});
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result_type, {f64}, false),
                                          llvm::Function::InternalLinkage, name, module);
  const llvm::AttrBuilder attributes(context, kernel->getAttributes().getFnAttrs());
  function->setAttributes(
      llvm::AttributeList::get(context, llvm::AttributeList::FunctionIndex, attributes));
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::ArrayRef<unsigned long long> words(kTwoOverPi);
  std::vector<uint64_t> values(words.begin(), words.end());
  auto* data = llvm::ConstantDataArray::get(context, values);
  auto* table = new llvm::GlobalVariable(*module, data->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, data, "two_over_pi");

  Builder b(llvm::BasicBlock::Create(context, "entry", function));
  MathBuilder math(b, target_);
  const auto c = [&](int64_t v) { return int_constant(i64, v); };
  Value* x = function->getArg(0);
  Value* bits = b.CreateBitCast(x, i64);
  Value* mantissa = b.CreateOr(b.CreateAnd(bits, c((int64_t{1} << 52) - 1)), c(int64_t{1} << 52));
  // x = mantissa * 2^e. Bits of 2/pi before position e - 2 contribute multiples of 4 quadrants.
  Value* biased = b.CreateAnd(b.CreateLShr(bits, c(52)), c(0x7ff));
  Value* e = b.CreateSub(biased, c(1075));
  // The table starts with 64 zeros; the clamp keeps arguments that need no reduction harmless.
  Value* first = b.CreateAdd(e, c(62));
  first = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, c(0));
  first = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, c(64 + 1023 - 52));
  Value* word = b.CreateLShr(first, c(6));
  Value* shift = b.CreateAnd(first, c(63));
  Value* parts[4];
  for (int i = 0; i < 4; ++i) {
    Value* at = b.CreateInBoundsGEP(i64, table, b.CreateAdd(word, c(i)));
    parts[i] = b.CreateLoad(i64, at);
  }
  const auto window = [&](int i) {
    return b.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {parts[i], parts[i + 1], shift});
  };
  const auto wide = [&](Value* v) { return b.CreateZExt(v, i128); };
  Value* sixty_four = int_constant(i128, 64);
  Value* low = b.CreateMul(wide(mantissa), wide(window(2)));
  Value* middle = b.CreateMul(wide(mantissa), wide(window(1)));
  middle = b.CreateAdd(middle, b.CreateLShr(low, sixty_four));
  Value* top = b.CreateMul(wide(mantissa), wide(window(0)));
  top = b.CreateAdd(top, b.CreateLShr(middle, sixty_four));
  // The product modulo 4 quadrants: two bits before the point, 126 behind it.
  Value* product = b.CreateOr(b.CreateShl(top, sixty_four), wide(b.CreateTrunc(middle, i64)));
  Value* quadrant = b.CreateTrunc(b.CreateLShr(product, int_constant(i128, 126)), i64);
  Value* fraction = b.CreateShl(product, int_constant(i128, 2));
  Value* above_half = b.CreateICmpSLT(fraction, int_constant(i128, 0));
  quadrant = b.CreateAdd(quadrant, b.CreateZExt(above_half, i64));
  Value* magnitude = b.CreateSelect(above_half, b.CreateNeg(fraction), fraction);
  Value* high_word = b.CreateTrunc(b.CreateLShr(magnitude, sixty_four), i64);
  Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, high_word, b.getFalse());
  zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, zeros, c(63));
  Value* aligned = b.CreateShl(magnitude, wide(zeros));
  Value* scale = math.power_of_two(b.CreateNeg(zeros));
  const auto piece = [&](int from, int width, double weight) {
    Value* v = b.CreateTrunc(b.CreateLShr(aligned, int_constant(i128, from)), i64);
    v = b.CreateAnd(v, c((int64_t{1} << width) - 1));
    return math.mul(b.CreateSIToFP(v, f64), math.mul(scale, float_constant(f64, weight)));
  };
  Value* hi = piece(75, 53, 0x1p-53);
  Value* lo = piece(23, 52, 0x1p-105);
  // Times pi/2.
  Pair r = math.two_product(hi, float_constant(f64, kHalfPi[0]));
  r.lo = math.madd(hi, float_constant(f64, kHalfPi[1]), r.lo);
  r.lo = math.madd(lo, float_constant(f64, kHalfPi[0]), r.lo);
  r = math.quick_two_sum(r.hi, r.lo);
  Value* negative = b.CreateXor(above_half, b.CreateICmpSLT(bits, c(0)));
  quadrant = b.CreateSelect(b.CreateICmpSLT(bits, c(0)), b.CreateNeg(quadrant), quadrant);
  Value* out = llvm::PoisonValue::get(result_type);
  out = b.CreateInsertValue(out, b.CreateSelect(negative, b.CreateFNeg(r.hi), r.hi), 0);
  out = b.CreateInsertValue(out, b.CreateSelect(negative, b.CreateFNeg(r.lo), r.lo), 1);
  out = b.CreateInsertValue(out, quadrant, 2);
  b.CreateRet(out);
  return function;
}

MathBuilder::Reduced MathBuilder::reduce(Value* x) {
  Reduced out{};
  Value* count = nearest(scaled(x, kTwoOverPiFloat), &out.quadrant);
  // Each product is exact, and so is the first difference.
  Value* first = sub(x, scaled(count, kHalfPiParts[0]));
  const Pair second = two_sum(first, scaled(count, -kHalfPiParts[1]));
  const Pair third = two_sum(second.hi, scaled(count, -kHalfPiParts[2]));
  Value* low = add(second.lo, third.lo);
  low = add(low, scaled(count, -kHalfPiParts[3]));
  out.rest = quick_two_sum(third.hi, low);

  Value* a = abs(x);
  Value* is_huge =
      b_.CreateAnd(b_.CreateFCmpOGT(a, num(a, kLargest)), b_.CreateFCmpOLT(a, infinity(a)));
  const unsigned lanes = lane_count(x);
  Value* any = is_huge;
  if (lanes > 0) {
    Value* bits = b_.CreateBitCast(is_huge, b_.getIntNTy(lanes));
    any = b_.CreateICmpNE(bits, int_constant(bits->getType(), 0));
  }
  llvm::LLVMContext& context = b_.getContext();
  llvm::Function* kernel = b_.GetInsertBlock()->getParent();
  llvm::Function* reduction = huge_reduction();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(context, "huge", kernel);
  auto* after = llvm::BasicBlock::Create(context, "reduced", kernel);
  llvm::MDNode* unlikely =
      llvm::MDNode::get(context, {llvm::MDString::get(context, "branch_weights"),
                                  llvm::ConstantAsMetadata::get(b_.getInt32(1)),
                                  llvm::ConstantAsMetadata::get(b_.getInt32(1000))});
  b_.CreateCondBr(any, slow, after, unlikely);
  b_.SetInsertPoint(slow);
  Value* fast[3] = {out.rest.hi, out.rest.lo, out.quadrant};
  Value* exact[3];
  if (lanes == 0) {
    Value* call = b_.CreateCall(reduction, {x});
    for (unsigned k = 0; k < 3; ++k) exact[k] = b_.CreateExtractValue(call, k);
  } else {
    for (unsigned k = 0; k < 3; ++k) exact[k] = llvm::PoisonValue::get(fast[k]->getType());
    for (uint64_t i = 0; i < lanes; ++i) {
      Value* call = b_.CreateCall(reduction, {b_.CreateExtractElement(x, i)});
      for (unsigned k = 0; k < 3; ++k) {
        exact[k] = b_.CreateInsertElement(exact[k], b_.CreateExtractValue(call, k), i);
      }
    }
  }
  for (unsigned k = 0; k < 3; ++k) exact[k] = b_.CreateSelect(is_huge, exact[k], fast[k]);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  Value* merged[3];
  for (unsigned k = 0; k < 3; ++k) {
    auto* phi = b_.CreatePHI(fast[k]->getType(), 2);
    phi->addIncoming(fast[k], before);
    phi->addIncoming(exact[k], slow);
    merged[k] = phi;
  }
  return {{merged[0], merged[1]}, merged[2]};
}

Value* MathBuilder::sin_kernel(const Pair& r) {
  Value* z = mul(r.hi, r.hi);
  Value* tail = mul(r.lo, madd(z, num(z, -0.5), num(z, 1)));
  return add(r.hi, madd(mul(r.hi, z), poly(kSin64, z), tail));
}

Value* MathBuilder::cos_kernel(const Pair& r) {
  Value* z = mul(r.hi, r.hi);
  Value* half = scaled(z, 0.5);
  Value* main = sub(num(z, 1), half);
  Value* lost = sub(sub(num(z, 1), main), half);
  Value* tail = sub(mul(mul(z, z), poly(kCos64, z)), mul(r.hi, r.lo));
  return add(main, add(lost, tail));
}

Value* MathBuilder::sin_or_cos(Value* x, bool cosine) {
  const bool narrow = is_f32(x);
  Value* wide = narrow ? b_.CreateFPExt(x, shaped_like(b_.getDoubleTy(), x)) : x;
  const Reduced reduced = reduce(wide);
  Value *sine, *cosine_value;
  Value* n = reduced.quadrant;
  if (narrow) {
    // The reduced argument is good to a fraction of an f32 ulp; the polynomials need no more.
    Value* r = b_.CreateFPTrunc(reduced.rest.hi, x->getType());
    Value* z = mul(r, r);
    sine = madd(mul(r, z), poly(kSin32, z), r);
    cosine_value = add(madd(mul(z, z), poly(kCos32, z), scaled(z, -0.5)), num(x, 1));
    n = b_.CreateTrunc(n, bits_type(x));
  } else {
    sine = sin_kernel(reduced.rest);
    cosine_value = cos_kernel(reduced.rest);
  }
  llvm::Type* type = n->getType();
  if (cosine) n = b_.CreateAdd(n, int_constant(type, 1));
  Value* is_odd = b_.CreateTrunc(n, shaped_like(b_.getInt1Ty(), n));
  Value* value = b_.CreateSelect(is_odd, cosine_value, sine);
  const int sign_shift = (narrow ? 32 : 64) - 2;
  Value* sign =
      b_.CreateShl(b_.CreateAnd(n, int_constant(type, 2)), int_constant(type, sign_shift));
  value = b_.CreateBitCast(b_.CreateXor(to_bits(value), sign), x->getType());
  return cosine ? value : b_.CreateSelect(b_.CreateFCmpOEQ(x, num(x, 0)), x, value);
}

Value* MathBuilder::tan(Value* x) {
  const Reduced reduced = reduce(x);
  Value* sine = sin_kernel(reduced.rest);
  Value* cosine = cos_kernel(reduced.rest);
  Value* is_odd = b_.CreateTrunc(reduced.quadrant, shaped_like(b_.getInt1Ty(), x));
  Value* top = b_.CreateSelect(is_odd, b_.CreateFNeg(cosine), sine);
  Value* bottom = b_.CreateSelect(is_odd, sine, cosine);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, num(x, 0)), x, div(top, bottom));
}

Value* MathBuilder::asin_part(Value* a, Value* is_small) {
  // asin(a) for a < 1/2, else asin(sqrt((1 - a) / 2)), which is half of acos(a).
  Value* z = b_.CreateSelect(is_small, mul(a, a), scaled(sub(num(a, 1), a), 0.5));
  Value* s = b_.CreateSelect(is_small, a, sqrt(z));
  return madd(mul(s, z), poly(kAsin64, z), s);
}

Value* MathBuilder::asin(Value* x) {
  Value* a = abs(x);
  Value* is_small = b_.CreateFCmpOLT(a, num(a, 0.5));
  Value* part = asin_part(a, is_small);
  Value* large = sub(num(a, kHalfPi[0]), plus(scaled(part, 2), -kHalfPi[1]));
  return with_sign_of(b_.CreateSelect(is_small, part, large), x);
}

Value* MathBuilder::acos(Value* x) {
  Value* a = abs(x);
  Value* is_small = b_.CreateFCmpOLT(a, num(a, 0.5));
  Value* part = asin_part(a, is_small);
  Value* twice = scaled(part, 2);
  Value* is_negative = b_.CreateFCmpOLT(x, num(x, 0));
  Value* mirrored = sub(num(a, 2 * kHalfPi[0]), plus(twice, -2 * kHalfPi[1]));
  Value* large = b_.CreateSelect(is_negative, mirrored, twice);
  Value* small = sub(num(a, kHalfPi[0]), plus(with_sign_of(part, x), -kHalfPi[1]));
  return b_.CreateSelect(is_small, small, large);
}

Value* MathBuilder::atan(Value* x) {
  // atan(a) = base + atan(t) with |t| <= tan(pi/8): base 0, pi/4 or pi/2, and one division.
  Value* a = abs(x);
  Value* is_middle = b_.CreateFCmpOGT(a, num(a, kTanEighth));
  Value* is_far = b_.CreateFCmpOGT(a, num(a, kTanThreeEighths));
  Value* one = num(a, 1);
  Value* top = b_.CreateSelect(is_middle, sub(a, one), a);
  Value* bottom = b_.CreateSelect(is_middle, add(a, one), one);
  top = b_.CreateSelect(is_far, num(a, -1), top);
  bottom = b_.CreateSelect(is_far, a, bottom);
  Value* t = div(top, bottom);
  Value* z = mul(t, t);
  const auto base = [&](double value) {
    Value* near_or_middle = b_.CreateSelect(is_middle, num(a, 0.5 * value), num(a, 0));
    return b_.CreateSelect(is_far, num(a, value), near_or_middle);
  };
  Value* tail = madd(mul(t, z), poly(kAtan64, z), base(kHalfPi[1]));
  return with_sign_of(add(base(kHalfPi[0]), add(t, tail)), x);
}

}  // namespace symtile::codegen
