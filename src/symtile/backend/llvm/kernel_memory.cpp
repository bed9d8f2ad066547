// Loads and stores: addresses, contiguous vectors, strided and gathered elements, masks.

#include "symtile/backend/llvm/kernel_codegen.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// Lane strides up to this are served by vector loads and shuffles, wider ones by gathers.
constexpr int64_t kMaxShuffledStride = 4;

std::optional<int64_t> constant_stride(const Lanes& flat) {
  if (!flat.stride) return 0;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(flat.stride);
  return constant ? std::optional<int64_t>(constant->getSExtValue()) : std::nullopt;
}

/// The pair of which `e` is the sign-extended low or high half: (p << 16) >> 16, p >> 16.
const Expr* half_of(const Expr& e, bool high) {
  const auto* right = e.as<BinaryExpr>();
  if (!right || right->dtype != DType::i32 || right->op != BinaryOp::shr || !right->b.is_int(16))
    return nullptr;
  const auto* left = right->a.as<BinaryExpr>();
  const bool shifted = left && left->op == BinaryOp::shl && left->b.is_int(16);
  if (high) return shifted ? nullptr : &right->a;
  return shifted ? &left->a : nullptr;
}

/// low(a) * low(b) + high(a) * high(b): a and b.
std::optional<std::pair<Expr, Expr>> match_pair_product(const Expr& e) {
  const auto* sum = e.as<BinaryExpr>();
  if (!sum || sum->dtype != DType::i32 || sum->op != BinaryOp::add) return std::nullopt;
  const auto* low = sum->a.as<BinaryExpr>();
  const auto* high = sum->b.as<BinaryExpr>();
  if (!low || !high || low->op != BinaryOp::mul || high->op != BinaryOp::mul) return std::nullopt;
  const Expr *a = half_of(low->a, false), *b = half_of(low->b, false);
  const Expr *a2 = half_of(high->a, true), *b2 = half_of(high->b, true);
  if (!a || !b || !a2 || !b2 || !structurally_equal(*a, *a2) || !structurally_equal(*b, *b2))
    return std::nullopt;
  return std::pair(*a, *b);
}

/// e = a op constant.
const Expr* operand_of(const Expr& e, BinaryOp op, int64_t constant) {
  const auto* n = e.as<BinaryExpr>();
  return n && n->dtype == DType::i32 && n->op == op && n->b.is_int(constant) ? &n->a : nullptr;
}

/// The word of which `e` is unsigned byte j, (w >> 8 * j) & 255, or signed byte j,
/// (w << (24 - 8 * j)) >> 24.
const Expr* byte_of(const Expr& e, int j, bool is_signed) {
  const Expr* inner =
      is_signed ? operand_of(e, BinaryOp::shr, 24) : operand_of(e, BinaryOp::bit_and, 255);
  if (!inner) return nullptr;
  const int shift = is_signed ? 24 - 8 * j : 8 * j;
  return shift == 0 ? inner : operand_of(*inner, is_signed ? BinaryOp::shl : BinaryOp::shr, shift);
}

/// The sum of the products of four unsigned bytes of a and four signed bytes of b: a and b.
std::optional<std::pair<Expr, Expr>> match_quad_product(const Expr& e) {
  Expr rest = e;
  const Expr *a = nullptr, *b = nullptr;
  for (int j = 3; j >= 0; --j) {
    const auto* sum = rest.as<BinaryExpr>();
    if (!sum || sum->dtype != DType::i32 || (j > 0 && sum->op != BinaryOp::add))
      return std::nullopt;
    const Expr term = j > 0 ? sum->b : rest;
    const auto* product = term.as<BinaryExpr>();
    if (!product || product->op != BinaryOp::mul) return std::nullopt;
    const Expr *u = byte_of(product->a, j, false), *s = byte_of(product->b, j, true);
    if (!u || !s || (a && (!structurally_equal(*a, *u) || !structurally_equal(*b, *s))))
      return std::nullopt;
    a = u;
    b = s;
    if (j > 0) rest = sum->a;
  }
  return std::pair(*a, *b);
}

llvm::Align natural(DType dtype) { return llvm::Align(static_cast<uint64_t>(size_of(dtype))); }

}  // namespace

KernelCodegen::BufferSlot& KernelCodegen::slot(const std::string& name) {
  const auto it = buffers_.find(name);
  SYMTILE_CHECK(it != buffers_.end(), "buffer '{}' is not in scope in tile function '{}'", name,
                source_.name);
  return it->second;
}

Lanes KernelCodegen::flatten(const BufferSlot& slot, const std::vector<Expr>& indices) {
  SYMTILE_CHECK(indices.size() == slot.strides.size(), "{} indices for {} dimensions in '{}'",
                indices.size(), slot.strides.size(), source_.name);
  Lanes flat;
  for (size_t i = 0; i < indices.size(); ++i) {
    flat = add(flat, multiply(emit(indices[i]), slot.strides[i]));
  }
  return flat;
}

Lanes KernelCodegen::place_in(const BufferSlot& slot, const std::vector<Expr>& indices) {
  Lanes flat = flatten(slot, indices);
  if (slot.lanes == 1) return flat;
  // A buffer private to each lane: the lane is the innermost index.
  flat = multiply(flat, Lanes{nullptr, slot.lanes});
  return add(flat, Lanes{nullptr, 0, int_constant(i64(), 1)});
}

Value* KernelCodegen::pointer(const BufferSlot& slot, const Lanes& flat) {
  SYMTILE_CHECK(!flat.is_vector(), "a scalar address was expected");
  llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
  // The constant part last, so unrolled accesses share the first part. Lane 0 of a masked access
  // may lie outside of the buffer, which an `inbounds` address must not.
  const bool in_bounds = !mask_;
  const auto step = [&](Value* base, Value* index) {
    return in_bounds ? b_.CreateInBoundsGEP(element, base, index)
                     : b_.CreateGEP(element, base, index);
  };
  Value* address = slot.base;
  if (flat.value) address = step(address, flat.value);
  if (flat.offset != 0)
    address = b_.CreateGEP(element, address, b_.getInt64(static_cast<uint64_t>(flat.offset)));
  return address;
}

Value* KernelCodegen::safe_place() {
  // A zeroed place on the stack that lanes which must not touch memory read instead.
  if (!safe_place_) {
    auto* storage = entry_alloca(i64(), 1);
    Builder at_end(entry_);
    at_end.CreateStore(b_.getInt64(0), storage);
    safe_place_ = storage;
  }
  return safe_place_;
}

Value* KernelCodegen::pointers(const BufferSlot& slot, const Lanes& flat, Value* mask) {
  llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
  Value* all = b_.CreateGEP(element, slot.base, vector_of(flat));
  if (!mask) return all;
  return b_.CreateSelect(mask, all, broadcast(b_, safe_place(), lanes_));
}

template <typename Access>
Access* KernelCodegen::annotate(Access* access, const BufferSlot& slot) {
  if (slot.scope) access->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
  if (slot.no_alias) access->setMetadata(llvm::LLVMContext::MD_noalias, slot.no_alias);
  return access;
}

Value* KernelCodegen::load_lanes(const BufferSlot& slot, const Lanes& flat) {
  llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
  const llvm::Align align = natural(slot.dtype);
  if (flat.is_uniform()) {
    Value* address = pointer(slot, flat);
    // In an arm of a select perhaps no lane needs it.
    if (mask_ && !some_lane_active_) {
      address = b_.CreateSelect(any_lane(mask_), address, safe_place());
    }
    return annotate(b_.CreateAlignedLoad(element, address, align), slot);
  }
  llvm::Type* vector = with_lanes(element, lanes_);
  const auto stride = flat.is_vector() ? std::nullopt : constant_stride(flat);
  if (stride == 1) {
    Value* address = pointer(slot, flat);
    // Copies private to the lanes exist for inactive lanes too.
    if (!mask_ || slot.lanes > 1) {
      return annotate(b_.CreateAlignedLoad(vector, address, align), slot);
    }
    return annotate(
        b_.CreateMaskedLoad(vector, address, align, mask_, llvm::Constant::getNullValue(vector)),
        slot);
  }
  if (!mask_ && stride && (*stride == -1 || (*stride > 1 && *stride <= kMaxShuffledStride))) {
    return load_strided(slot, flat, *stride);
  }
  if (mask_ && lane_count(mask_) > 0 && stride && *stride > 1 && *stride <= kMaxShuffledStride &&
      masks_loads(slot.dtype)) {
    return load_strided_masked(slot, flat, *stride);
  }
  return annotate(b_.CreateMaskedGather(vector, pointers(slot, flat, mask_), align), slot);
}

bool KernelCodegen::masks_loads(DType dtype) const {
  return target_.vector_bytes == 64 || (target_.vector_bytes == 32 && size_of(dtype) >= 4);
}

Value* KernelCodegen::load_strided_masked(const BufferSlot& slot, const Lanes& flat,
                                          int64_t stride) {
  // One wide load that touches the active elements only, far cheaper than a gather.
  llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
  const int wide_lanes = lanes_ * static_cast<int>(stride);
  llvm::Type* wide = with_lanes(element, wide_lanes);
  llvm::SmallVector<int, 128> spread;
  llvm::SmallVector<int, 64> picks;
  for (int i = 0; i < wide_lanes; ++i) {
    const bool used = i % stride == 0;
    spread.push_back(used ? i / static_cast<int>(stride) : lanes_);
    if (used) picks.push_back(i);
  }
  Value* mask =
      b_.CreateShuffleVector(mask_, llvm::Constant::getNullValue(mask_->getType()), spread);
  Lanes first = flat;
  first.stride = nullptr;
  Value* loaded = annotate(b_.CreateMaskedLoad(wide, pointer(slot, first), natural(slot.dtype),
                                               mask, llvm::Constant::getNullValue(wide)),
                           slot);
  return b_.CreateShuffleVector(loaded, picks);
}

Value* KernelCodegen::load_strided(const BufferSlot& slot, const Lanes& flat, int64_t stride) {
  llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
  llvm::Type* vector = with_lanes(element, lanes_);
  const llvm::Align align = natural(slot.dtype);
  const auto load_at = [&](int64_t offset) {
    Lanes first = flat;
    first.stride = nullptr;
    first.offset += offset;
    return annotate(b_.CreateAlignedLoad(vector, pointer(slot, first), align), slot);
  };
  llvm::SmallVector<int, 64> picks;
  if (stride == -1) {
    for (int i = lanes_; i-- > 0;) picks.push_back(i);
    return b_.CreateShuffleVector(load_at(1 - lanes_), picks);
  }
  // Whole vectors that cover the elements; the last one ends at the last element, so nothing
  // outside of [first, last] is read.
  const int64_t last = (lanes_ - 1) * stride;
  Value* result = llvm::PoisonValue::get(vector);
  int taken = 0;
  for (int64_t part = 0; taken < lanes_; ++part) {
    const int64_t start = std::min(part * lanes_, last - (lanes_ - 1));
    Value* loaded = load_at(start);
    llvm::SmallVector<int, 64> mask;
    for (int i = 0; i < lanes_; ++i) mask.push_back(i);
    while (taken < lanes_ && taken * stride - start < lanes_) {
      mask[static_cast<size_t>(taken)] = lanes_ + static_cast<int>(taken * stride - start);
      ++taken;
    }
    result = b_.CreateShuffleVector(result, loaded, mask);
  }
  return result;
}

void KernelCodegen::store_lanes(const BufferSlot& slot, const Lanes& flat, Value* value) {
  const llvm::Align align = natural(slot.dtype);
  if (flat.is_uniform()) {
    SYMTILE_CHECK(lane_count(value) == 0, "lanes store different values at one place in '{}'",
                  source_.name);
    annotate(b_.CreateAlignedStore(value, pointer(slot, flat), align), slot);
    return;
  }
  value = broadcast(b_, value, lanes_);
  const auto stride = flat.is_vector() ? std::nullopt : constant_stride(flat);
  if (stride == 1) {
    Value* address = pointer(slot, flat);
    if (slot.lanes > 1 && mask_) {
      // Blending keeps a private buffer promotable to registers.
      Value* old = b_.CreateAlignedLoad(value->getType(), address, align);
      value = b_.CreateSelect(mask_, value, old);
    }
    if (!mask_ || slot.lanes > 1) {
      annotate(b_.CreateAlignedStore(value, address, align), slot);
    } else {
      annotate(b_.CreateMaskedStore(value, address, align, mask_), slot);
    }
    return;
  }
  if (mask_) {
    llvm::Type* element = memory_type(module_.getContext(), slot.dtype);
    Value* all = b_.CreateGEP(element, slot.base, vector_of(flat));
    annotate(b_.CreateMaskedScatter(value, all, align, mask_), slot);
    return;
  }
  Value* all = flat.is_vector() ? flat.value : nullptr;
  for (int i = 0; i < lanes_; ++i) {
    const auto lane = static_cast<uint64_t>(i);
    Lanes one = flat;
    if (all) {
      one.value = b_.CreateExtractElement(all, lane);
    } else {
      one.stride = nullptr;
      one = add(one, multiply(Lanes{flat.stride}, Lanes{nullptr, i}));
    }
    annotate(b_.CreateAlignedStore(b_.CreateExtractElement(value, lane), pointer(slot, one), align),
             slot);
  }
}

Value* KernelCodegen::emit_dot_product(const Expr& e, Value* acc) {
  const auto quads = match_quad_product(e);
  const auto words = quads ? quads : match_pair_product(e);
  if (!words) return nullptr;
  Value *a = emit_value(words->first), *b = emit_value(words->second);
  const int lanes = static_cast<int>(std::max({lane_count(a), lane_count(b), lane_count(acc)}));
  a = broadcast(b_, a, lanes);
  b = broadcast(b_, b, lanes);
  acc = broadcast(b_, acc, lanes);
  return quads ? ops_.quad_dot(a, b, acc) : ops_.pair_dot(a, b, acc);
}

Value* KernelCodegen::updated_value(const StoreStmt& n, const ReductionUpdate& update) {
  const DType dtype = n.value.dtype();
  const BufferSlot& buffer = slot(n.buffer);
  Value* old = ops_.from_memory(buffer.dtype, load_lanes(buffer, place_in(buffer, n.indices)));
  const auto shape = [&](Value* a, Value* b) {
    return static_cast<int>(std::max(lane_count(a), lane_count(b)));
  };
  // Only reductions may be reordered; scalar ones are left to LLVM's vectoriser, which asks for
  // the permission and for operators it knows.
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  if (lanes_ == 1) {
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    b_.setFastMathFlags(flags);
  }
  const auto* product = update.value.as<BinaryExpr>();
  if (update.op == BinaryOp::add && is_float(dtype) && product && product->op == BinaryOp::mul) {
    Value *a, *b;
    {
      llvm::IRBuilderBase::FastMathFlagGuard exact(b_);
      b_.clearFastMathFlags();
      a = emit_value(product->a);
      b = emit_value(product->b);
    }
    const int lanes = std::max(shape(a, b), shape(a, old));
    return ops_.multiply_add(broadcast(b_, a, lanes), broadcast(b_, b, lanes),
                             broadcast(b_, old, lanes));
  }
  if (update.op == BinaryOp::add) {
    if (Value* sum = emit_dot_product(update.value, old)) return sum;
  }
  Value* value;
  {
    llvm::IRBuilderBase::FastMathFlagGuard exact(b_);
    b_.clearFastMathFlags();
    value = emit_value(update.value);
  }
  const int lanes = shape(value, old);
  value = broadcast(b_, value, lanes);
  old = broadcast(b_, old, lanes);
  const bool is_extremum = update.op == BinaryOp::min || update.op == BinaryOp::max;
  if (is_extremum && is_float(dtype) && lanes_ == 1) {
    return b_.CreateBinaryIntrinsic(
        update.op == BinaryOp::max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, old,
        value);
  }
  return ops_.binary(update.op, dtype, old, value);
}

void KernelCodegen::emit_store(const StoreStmt& n) {
  with_fresh_memo([&] {
    if (store_to_shadow(n)) return;
    const BufferSlot& buffer = slot(n.buffer);
    const auto update = match_reduction(n);
    const Lanes flat = place_in(buffer, n.indices);
    if (update && flat.is_uniform() && lanes_ > 1 && varies(update->value)) {
      // A reduction over lanes without accumulators: combine, then update the one place.
      const DType dtype = n.value.dtype();
      Value* value = vector_of(emit(update->value));
      if (mask_) {
        Value* neutral = broadcast(b_, ops_.identity(update->op, dtype), lanes_);
        value = b_.CreateSelect(mask_, value, neutral);
      }
      Value* combined = ops_.combine_lanes(update->op, dtype, value);
      Value* old = ops_.from_memory(buffer.dtype, load_lanes(buffer, flat));
      Value* result = ops_.binary(update->op, dtype, old, combined);
      return store_lanes(buffer, flat, ops_.to_memory(buffer.dtype, result));
    }
    Value* value = update ? updated_value(n, *update) : emit_value(n.value);
    store_lanes(buffer, flat, ops_.to_memory(buffer.dtype, value));
  });
}

}  // namespace symtile::codegen
