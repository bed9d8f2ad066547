// Vectorised loops: one lane group, or strips with a tail, and the accumulators of reductions.

#include <algorithm>

#include "symtile/backend/llvm/kernel_codegen.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// Local buffers up to this size get a vector accumulator for each element.
constexpr int64_t kMaxShadowElements = 256;
/// One lane group spans up to this many registers.
constexpr int kMaxGroupRegisters = 4;
/// A constant extent up to this many registers becomes lane groups in a row instead of a loop.
constexpr int kMaxExpandedRegisters = 16;

/// How many registers each value of a strip-mined loop spans: enough to hide the latency of
/// accumulators and to spread the loop's overhead, but not when the body is long already.
int interleave_of(const VectorPlan& plan) {
  if (plan.has_loops) return 1;
  if (!plan.reductions.empty()) return plan.cost <= 8 ? 4 : (plan.cost <= 20 ? 2 : 1);
  return plan.cost <= 20 ? 2 : 1;
}

}  // namespace

void KernelCodegen::emit_vectorized(const ForStmt& n) {
  const LoopBounds bounds = bounds_of(n);
  const VectorPlan plan = plan_vector_loop(n);
  if (!plan.possible) return emit_serial(n, Hint::none);
  if (!bounds.count) return emit_strip_mined(n, bounds, plan);
  const int64_t count = *bounds.count;
  if (count <= 1) return emit_unrolled(n, bounds.begin, count);
  const int lanes = target_.lanes(plan.element_bytes);
  const int widest = kMaxGroupRegisters * lanes;
  const bool cut = !plan.divisions.empty() && n.step == 1;
  const int64_t expanded = plan.reductions.empty() ? kMaxExpandedRegisters * lanes : widest;
  if (cut || count > expanded) return emit_strip_mined(n, bounds, plan);
  // Groups of a power of two: LLVM makes a mess of registers that are partly used.
  for (int64_t done = 0; done < count;) {
    int width = 1;
    while (2 * width <= std::min<int64_t>(count - done, widest)) width *= 2;
    const Lanes first = add(bounds.begin, Lanes{nullptr, done * n.step});
    if (width == 1) {
      with_variable(n.var, {first, non_negative(n.begin)}, [&] { emit(n.body); });
    } else {
      ShadowSet shadows = make_shadows(plan, width);
      emit_lane_group(n, first, width, nullptr, &shadows);
      finish_shadows(shadows);
    }
    done += width;
  }
}

void KernelCodegen::emit_lane_group(const ForStmt& n, const Lanes& base, int lanes, Value* mask,
                                    ShadowSet* shadows) {
  lanes_ = lanes;
  mask_ = mask;
  shadows_ = shadows;
  Lanes variable = base;
  variable.stride = int_constant(i64(), n.step);
  const bool counts_up = non_negative(n.begin);
  with_variable(n.var, {variable, counts_up}, [&] { emit(n.body); });
  lanes_ = 1;
  mask_ = nullptr;
  shadows_ = nullptr;
}

bool KernelCodegen::can_mask_tail(const VectorPlan& plan) const {
  if (target_.vector_bytes == 64) return true;
  // AVX2 masks elements of 4 and 8 bytes only.
  return target_.level == CpuLevel::x86_64_v3 && plan.narrowest_bytes >= 4;
}

Value* KernelCodegen::mask_below(Value* count, int lanes) {
  Value* limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, int_constant(i64(), lanes));
  limit = b_.CreateTrunc(limit, b_.getInt32Ty());
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(int_constant(b_.getInt32Ty(), i));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), broadcast(b_, limit, lanes));
}

void KernelCodegen::emit_strip_mined(const ForStmt& n, const LoopBounds& bounds,
                                     const VectorPlan& plan) {
  const int lanes = std::max(target_.lanes(plan.element_bytes), 2);
  const int interleave = interleave_of(plan);
  ShadowSet narrow = make_shadows(plan, lanes);
  ShadowSet wide;
  if (interleave > 1) wide = make_shadows(plan, lanes * interleave);
  ShadowSet* wide_or_none = interleave > 1 ? &wide : nullptr;
  if (!plan.divisions.empty() && n.step == 1) {
    emit_segments(n, bounds, plan, wide_or_none, narrow);
  } else {
    emit_strips(n, first_lane(bounds.begin), first_lane(bounds.end), plan, wide_or_none, narrow);
  }
  if (wide_or_none) fold_shadows(wide, narrow);
  finish_shadows(narrow);
}

void KernelCodegen::emit_strips(const ForStmt& n, Value* begin, Value* end, const VectorPlan& plan,
                                ShadowSet* wide, ShadowSet& narrow) {
  const int lanes = narrow.lanes;
  // In iterations: [0, count) as wide strips, then narrow strips, then the rest.
  Value* count = first_lane(subtract(Lanes{end}, Lanes{begin}));
  if (n.step != 1) {
    count = b_.CreateAdd(count, int_constant(i64(), n.step - 1));
    count = b_.CreateSDiv(count, int_constant(i64(), n.step));
  }
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, int_constant(i64(), 0));
  const auto first_of = [&](Value* iteration) {
    return add(Lanes{begin}, multiply(Lanes{iteration}, Lanes{nullptr, n.step}));
  };
  const auto whole_strips = [&](Value* from, int width) {
    Value* strips = b_.CreateAnd(b_.CreateSub(count, from), int_constant(i64(), -width));
    return b_.CreateAdd(from, strips);
  };
  const auto is_empty = [](Value* from, Value* to) {
    return from == to && llvm::isa<llvm::Constant>(from);  // constants are unique
  };
  const auto strip_loop = [&](Value* from, Value* to, ShadowSet& shadows) {
    if (is_empty(from, to)) return;
    counted_loop(Lanes{from}, Lanes{to}, shadows.lanes, Hint::finished, [&](Value* i) {
      emit_lane_group(n, first_of(i), shadows.lanes, nullptr, &shadows);
    });
  };
  Value* done = int_constant(i64(), 0);
  const bool masked = can_mask_tail(plan);
  if (wide) {
    Value* to = whole_strips(done, wide->lanes);
    strip_loop(done, to, *wide);
    done = to;
  }
  if (!masked || !wide) {
    Value* to = whole_strips(done, lanes);
    strip_loop(done, to, narrow);
    done = to;
  }
  if (is_empty(done, count)) return;
  if (masked) {
    return counted_loop(Lanes{done}, Lanes{count}, lanes, Hint::finished, [&](Value* i) {
      emit_lane_group(n, first_of(i), lanes, mask_below(b_.CreateSub(count, i), lanes), &narrow);
    });
  }
  // One iteration at a time; these update reduced buffers themselves.
  counted_loop(Lanes{done}, Lanes{count}, 1, Hint::finished, [&](Value* i) {
    with_variable(n.var, {first_of(i), non_negative(n.begin)}, [&] { emit(n.body); });
  });
}

void KernelCodegen::emit_segments(const ForStmt& n, const LoopBounds& bounds,
                                  const VectorPlan& plan, ShadowSet* wide, ShadowSet& narrow) {
  llvm::LLVMContext& context = module_.getContext();
  Value* begin = first_lane(bounds.begin);
  Value* end = first_lane(bounds.end);
  const bool counts_up = non_negative(n.begin);
  auto* loop = llvm::BasicBlock::Create(context, "segment", llvm_function_);
  auto* done = llvm::BasicBlock::Create(context, "done", llvm_function_);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, done);
  b_.SetInsertPoint(loop);
  auto* start = b_.CreatePHI(i64(), 2);
  start->addIncoming(begin, before);
  // The segment ends where the first remainder would wrap.
  Value* length = nullptr;
  std::vector<Segment> segments;
  with_variable(n.var, {Lanes{start}, counts_up}, [&] {
    for (const LaneDivision& division : plan.divisions) {
      const Lanes quotient = emit_root(floordiv(division.dividend, division.divisor));
      const Lanes rest = emit_root(floormod(division.dividend, division.divisor));
      segments.push_back({division, quotient, subtract(rest, Lanes{start})});
      Value* left = first_lane(subtract(emit_root(division.divisor), rest));
      left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, int_constant(i64(), 1));
      length = length ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, length, left) : left;
    }
  });
  length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, length, b_.CreateSub(end, start));
  Value* stop = b_.CreateAdd(start, length);
  segment_var_ = n.var;
  segments_ = std::move(segments);
  emit_strips(n, start, stop, plan, wide, narrow);
  segments_.clear();
  segment_var_.clear();
  start->addIncoming(stop, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(stop, end), loop, done);
  b_.SetInsertPoint(done);
}

const KernelCodegen::Segment* KernelCodegen::find_segment(const BinaryExpr& n) const {
  if (n.op != BinaryOp::floordiv && n.op != BinaryOp::floormod) return nullptr;
  for (const Segment& segment : segments_) {
    if (structurally_equal(segment.division.dividend, n.a) &&
        structurally_equal(segment.division.divisor, n.b)) {
      return &segment;
    }
  }
  return nullptr;
}

KernelCodegen::ShadowSet KernelCodegen::make_shadows(const VectorPlan& plan, int lanes) {
  ShadowSet set;
  set.lanes = lanes;
  for (const auto& [buffer, reduction] : plan.reductions) {
    Shadow shadow;
    shadow.reduction = reduction;
    const BufferSlot& place = slot(buffer);
    if (reduction.single_place) {
      with_fresh_memo([&] { shadow.place = flatten(place, reduction.indices); });
    } else if (place.elements && *place.elements <= kMaxShadowElements) {
      shadow.elements = *place.elements;
    } else {
      continue;  // combined lane by lane at every store
    }
    llvm::Constant* neutral = ops_.identity(reduction.op, reduction.dtype);
    llvm::Type* type = with_lanes(neutral->getType(), lanes);
    shadow.storage = entry_alloca(type, shadow.elements);
    Value* start = broadcast(b_, neutral, lanes);
    for (int64_t e = 0; e < shadow.elements; ++e) {
      b_.CreateStore(start, b_.CreateConstGEP1_64(type, shadow.storage, static_cast<uint64_t>(e)));
    }
    set.shadows.emplace(buffer, std::move(shadow));
  }
  return set;
}

void KernelCodegen::fold_shadows(ShadowSet& wide, ShadowSet& narrow) {
  for (auto& [buffer, from] : wide.shadows) {
    Shadow& to = narrow.shadows.at(buffer);
    const auto [op, dtype] = std::pair(from.reduction.op, from.reduction.dtype);
    llvm::Type* element = compute_type(module_.getContext(), dtype);
    llvm::Type* wide_type = with_lanes(element, wide.lanes);
    llvm::Type* narrow_type = with_lanes(element, narrow.lanes);
    for (int64_t e = 0; e < from.elements; ++e) {
      const auto at = static_cast<uint64_t>(e);
      Value* all = b_.CreateLoad(wide_type, b_.CreateConstGEP1_64(wide_type, from.storage, at));
      Value* target = b_.CreateConstGEP1_64(narrow_type, to.storage, at);
      Value* sum = b_.CreateLoad(narrow_type, target);
      for (int part = 0; part < wide.lanes; part += narrow.lanes) {
        llvm::SmallVector<int, 64> picks;
        for (int i = 0; i < narrow.lanes; ++i) picks.push_back(part + i);
        sum = ops_.binary(op, dtype, sum, b_.CreateShuffleVector(all, picks));
      }
      b_.CreateStore(sum, target);
    }
  }
}

void KernelCodegen::finish_shadows(ShadowSet& set) {
  for (auto& [buffer, shadow] : set.shadows) {
    const BufferSlot& place = slot(buffer);
    const DType dtype = shadow.reduction.dtype;
    llvm::Type* type = with_lanes(compute_type(module_.getContext(), dtype), set.lanes);
    for (int64_t e = 0; e < shadow.elements; ++e) {
      const auto at = static_cast<uint64_t>(e);
      Value* all = b_.CreateLoad(type, b_.CreateConstGEP1_64(type, shadow.storage, at));
      Value* combined = ops_.combine_lanes(shadow.reduction.op, dtype, all);
      const Lanes flat = shadow.reduction.single_place ? shadow.place : Lanes{nullptr, e};
      Value* old = ops_.from_memory(place.dtype, load_lanes(place, flat));
      Value* result = ops_.binary(shadow.reduction.op, dtype, old, combined);
      store_lanes(place, flat, ops_.to_memory(place.dtype, result));
    }
  }
}

bool KernelCodegen::store_to_shadow(const StoreStmt& n) {
  if (!shadows_) return false;
  const auto it = shadows_->shadows.find(n.buffer);
  if (it == shadows_->shadows.end()) return false;
  const Shadow& shadow = it->second;
  const auto update = match_reduction(n);
  SYMTILE_CHECK(update, "buffer '{}' is not only reduced into", n.buffer);
  const auto [op, dtype] = std::pair(shadow.reduction.op, shadow.reduction.dtype);
  llvm::Type* type = with_lanes(compute_type(module_.getContext(), dtype), lanes_);
  Value* target = shadow.storage;
  if (!shadow.reduction.single_place) {
    target = b_.CreateGEP(type, target, first_lane(flatten(slot(n.buffer), n.indices)));
  }
  const auto masked = [&](Value* value, llvm::Constant* neutral) {
    return mask_ ? b_.CreateSelect(mask_, value, broadcast(b_, neutral, lanes_)) : value;
  };
  const auto* product = update->value.as<BinaryExpr>();
  Value* old = b_.CreateLoad(type, target);
  Value* result;
  if (op == BinaryOp::add && is_float(dtype) && product && product->op == BinaryOp::mul) {
    Value* a = vector_of(emit(product->a));
    Value* b = vector_of(emit(product->b));
    result = ops_.multiply_add(a, b, old);
    // Masked lanes keep what they had: 0 * infinity would not be neutral.
    if (mask_) result = b_.CreateSelect(mask_, result, old);
  } else if (Value* sum = op == BinaryOp::add ? emit_dot_product(update->value, old) : nullptr) {
    result = mask_ ? b_.CreateSelect(mask_, sum, old) : sum;
  } else {
    Value* value = vector_of(emit(update->value));
    result = ops_.binary(op, dtype, old, masked(value, ops_.identity(op, dtype)));
  }
  b_.CreateStore(result, target);
  return true;
}

}  // namespace symtile::codegen
