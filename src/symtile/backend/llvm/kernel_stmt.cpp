// Statements: loops, conditions, allocations, task mappings, intrinsics.

#include <algorithm>

#include "symtile/backend/llvm/kernel_codegen.h"
#include "symtile/ir/intrinsics.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// Larger local buffers go to the scratch area, to keep stacks small.
constexpr int64_t kMaxStackBytes = 64 << 10;
/// Loops marked unrolled stay loops once a kernel has expanded this many bodies.
constexpr int kMaxUnrolledBodies = 2048;

}  // namespace

void KernelCodegen::emit(const Stmt& s) {
  if (!s) return;
  if (const auto* n = as<BlockStmt>(s)) {
    for (const Stmt& child : n->stmts) emit(child);
  } else if (const auto* n = as<StoreStmt>(s)) {
    emit_store(*n);
  } else if (const auto* n = as<ForStmt>(s)) {
    emit_for(*n);
  } else if (const auto* n = as<LetStmt>(s)) {
    const Variable variable{emit_root(n->value), non_negative(n->value)};
    with_variable(n->var, variable, [&] { emit(n->body); });
  } else if (const auto* n = as<IfStmt>(s)) {
    emit_if(*n);
  } else if (const auto* n = as<AllocateStmt>(s)) {
    emit_allocate(*n);
  } else if (const auto* n = as<IntrinsicStmt>(s)) {
    emit_intrinsic(*n);
  } else {
    // One thread runs a whole iteration of the parallel loop: it never waits for itself.
    SYMTILE_CHECK(as<BarrierStmt>(s), "tile function '{}' still has compute stages", source_.name);
  }
}

void KernelCodegen::with_variable(const std::string& name, Variable variable,
                                  const std::function<void()>& f) {
  const auto it = variables_.find(name);
  const std::optional<Variable> hidden =
      it == variables_.end() ? std::nullopt : std::optional<Variable>(it->second);
  variables_[name] = variable;
  if (name == segment_var_ && hidden) {
    // The name means something else inside.
    const auto segments = std::exchange(segments_, {});
    f();
    segments_ = segments;
  } else {
    f();
  }
  if (hidden) {
    variables_[name] = *hidden;
  } else {
    variables_.erase(name);
  }
}

KernelCodegen::LoopBounds KernelCodegen::bounds_of(const ForStmt& n) {
  LoopBounds bounds{emit_root(n.begin), emit_root(n.end), std::nullopt};
  SYMTILE_CHECK(bounds.begin.is_uniform() && bounds.end.is_uniform(),
                "bounds of loop '{}' differ between lanes", n.var);
  SYMTILE_CHECK(n.step >= 1, "loop '{}' has step {}", n.var, n.step);
  std::optional<int64_t> span;
  if (bounds.begin.is_constant() && bounds.end.is_constant()) {
    span = bounds.end.offset - bounds.begin.offset;
  } else if (const auto extent = to_dim_expr(n.end - n.begin)) {
    span = extent->as_const();  // "j to j + 16" has 16 iterations wherever it starts
  }
  if (span) bounds.count = *span <= 0 ? 0 : (*span + n.step - 1) / n.step;
  return bounds;
}

void KernelCodegen::emit_for(const ForStmt& n) {
  switch (n.kind) {
    case LoopKind::vectorized:
      if (lanes_ == 1) return emit_vectorized(n);
      return emit_serial(n, Hint::none);
    case LoopKind::unrolled: {
      const LoopBounds bounds = bounds_of(n);
      if (bounds.count && unrolled_bodies_ < kMaxUnrolledBodies) {
        return emit_unrolled(n, bounds.begin, *bounds.count);
      }
      return emit_serial(n, Hint::unroll);
    }
    default:
      return emit_serial(n, Hint::none);
  }
}

void KernelCodegen::emit_unrolled(const ForStmt& n, const Lanes& begin, int64_t count) {
  const bool counts_up = non_negative(n.begin);
  for (int64_t i = 0; i < count; ++i) {
    ++unrolled_bodies_;
    const Lanes at = add(begin, Lanes{nullptr, i * n.step});
    with_variable(n.var, {at, counts_up}, [&] { emit(n.body); });
  }
}

void KernelCodegen::emit_serial(const ForStmt& n, Hint hint) {
  const LoopBounds bounds = bounds_of(n);
  if (bounds.count && *bounds.count <= 1) return emit_unrolled(n, bounds.begin, *bounds.count);
  const bool counts_up = non_negative(n.begin);
  counted_loop(bounds.begin, bounds.end, n.step, hint, [&](Value* i) {
    with_variable(n.var, {Lanes{i}, counts_up}, [&] { emit(n.body); });
  });
}

llvm::MDNode* KernelCodegen::loop_metadata(Hint hint) {
  llvm::LLVMContext& context = module_.getContext();
  const auto flag = [&](const char* name) {
    return llvm::MDNode::get(context, {llvm::MDString::get(context, name)});
  };
  llvm::SmallVector<llvm::Metadata*, 4> list = {nullptr, flag("llvm.loop.mustprogress")};
  if (hint == Hint::finished) {
    // Already as wide as it should be.
    list.push_back(flag("llvm.loop.unroll.disable"));
    list.push_back(
        llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.isvectorized"),
                                    llvm::ConstantAsMetadata::get(b_.getInt32(1))}));
  } else if (hint == Hint::unroll) {
    list.push_back(flag("llvm.loop.unroll.enable"));
  }
  llvm::MDNode* node = llvm::MDNode::getDistinct(context, list);
  node->replaceOperandWith(0, node);
  return node;
}

void KernelCodegen::counted_loop(const Lanes& begin, const Lanes& end, int64_t step, Hint hint,
                                 const Body& body) {
  llvm::LLVMContext& context = module_.getContext();
  Value* first = first_lane(begin);
  Value* limit = first_lane(end);
  auto* loop = llvm::BasicBlock::Create(context, "loop", llvm_function_);
  auto* done = llvm::BasicBlock::Create(context, "done", llvm_function_);
  b_.CreateCondBr(b_.CreateICmpSLT(first, limit), loop, done);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.SetInsertPoint(loop);
  auto* i = b_.CreatePHI(i64(), 2);
  i->addIncoming(first, before);
  body(i);
  Value* next = b_.CreateNSWAdd(i, b_.getInt64(static_cast<uint64_t>(step)));
  auto* latch = b_.CreateCondBr(b_.CreateICmpSLT(next, limit), loop, done);
  latch->setMetadata(llvm::LLVMContext::MD_loop, loop_metadata(hint));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.SetInsertPoint(done);
}

void KernelCodegen::emit_if(const IfStmt& n) {
  llvm::LLVMContext& context = module_.getContext();
  Value* condition = value_of(emit_root(n.condition));
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    return emit(constant->isOne() ? n.then_body : n.else_body);
  }
  const auto guarded = [&](Value* test, const std::function<void()>& body) {
    auto* inside = llvm::BasicBlock::Create(context, "then", llvm_function_);
    auto* after = llvm::BasicBlock::Create(context, "join", llvm_function_);
    b_.CreateCondBr(test, inside, after);
    b_.SetInsertPoint(inside);
    body();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  };
  if (lane_count(condition) == 0) {
    if (!n.else_body) return guarded(condition, [&] { emit(n.then_body); });
    auto* then_block = llvm::BasicBlock::Create(context, "then", llvm_function_);
    auto* else_block = llvm::BasicBlock::Create(context, "else", llvm_function_);
    auto* after = llvm::BasicBlock::Create(context, "join", llvm_function_);
    b_.CreateCondBr(condition, then_block, else_block);
    b_.SetInsertPoint(then_block);
    emit(n.then_body);
    b_.CreateBr(after);
    b_.SetInsertPoint(else_block);
    emit(n.else_body);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    return;
  }
  Value* outer = mask_;
  const auto run = [&](const Stmt& body, Value* lanes) {
    if (!body) return;
    Value* mask = both(outer, lanes);
    // Skipped when no lane takes this side, so uniform accesses inside it are safe.
    guarded(any_lane(mask), [&] {
      mask_ = mask;
      emit(body);
      mask_ = outer;
    });
  };
  run(n.then_body, condition);
  if (n.else_body) run(n.else_body, b_.CreateNot(condition));
}

void KernelCodegen::emit_allocate(const AllocateStmt& n) {
  const Buffer& buffer = n.buffer;
  llvm::Type* element = memory_type(module_.getContext(), buffer.dtype);
  BufferSlot made = make_slot(buffer, nullptr);
  const bool wants_stack = buffer.scope == Scope::local || buffer.scope == Scope::warp;
  const int64_t stack_bytes = made.elements ? *made.elements * size_of(buffer.dtype) * lanes_ : 0;
  if (wants_stack && made.elements && stack_bytes <= kMaxStackBytes) {
    // Inside a vectorised loop every lane has its own copy; the lane is the innermost index.
    made.lanes = lanes_;
    made.base = entry_alloca(element, std::max<int64_t>(*made.elements * lanes_, 1));
  } else {
    SYMTILE_CHECK(lanes_ == 1, "buffer '{}' inside a vectorised loop is too large", buffer.name);
    const auto [place, fresh] = scratch_offsets_.try_emplace(&n, scratch_bytes_);
    if (fresh) {
      const DimExpr bytes = product(buffer.dims) * DimExpr(size_of(buffer.dtype));
      for (const std::string& symbol : bytes.symbols()) {
        const auto& known = source_.symbols;
        SYMTILE_CHECK(std::find(known.begin(), known.end(), symbol) != known.end(),
                      "the size of buffer '{}' depends on '{}'", buffer.name, symbol);
      }
      scratch_bytes_ += round_up(bytes, 64);
    }
    const Lanes at = emit_root(to_expr(place->second));
    made.base = b_.CreateInBoundsGEP(b_.getInt8Ty(), llvm_function_->getArg(2), first_lane(at));
    std::tie(made.scope, made.no_alias) = alias_scopes_.at(buffer.name);
  }
  const auto it = buffers_.find(buffer.name);
  std::optional<BufferSlot> hidden;
  if (it != buffers_.end()) hidden = it->second;
  buffers_[buffer.name] = std::move(made);
  emit(n.body);
  if (hidden) {
    buffers_[buffer.name] = *hidden;
  } else {
    buffers_.erase(buffer.name);
  }
}

void KernelCodegen::emit_intrinsic(const IntrinsicStmt& n) {
  if (intrinsic_of(n)) {
    // A processor copies and multiplies where the statement stands.
    if (const Stmt plain = plain_statements(n)) emit(plain);
    return;
  }
  // prefetch(x[i]) and prefetch_write(x[i]), perhaps with a locality from 0 to 3: a hint for the
  // cache line of lane 0.
  const bool write = n.name == "prefetch_write";
  SYMTILE_CHECK(write || n.name == "prefetch", "unknown CPU intrinsic '{}'", n.name);
  const auto* place = n.args.empty() ? nullptr : n.args[0].as<Load>();
  SYMTILE_CHECK(place, "'{}' takes a buffer element", n.name);
  const int64_t locality = n.args.size() > 1 ? n.args[1].as_int().value_or(3) : 3;
  const BufferSlot& buffer = slot(place->buffer);
  Lanes flat;
  with_fresh_memo([&] { flat = place_in(buffer, place->indices); });
  flat.stride = nullptr;
  if (flat.is_vector()) flat.value = b_.CreateExtractElement(flat.value, uint64_t{0});
  b_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {b_.getPtrTy()},
      {pointer(buffer, flat), b_.getInt32(write ? 1 : 0),
       b_.getInt32(static_cast<uint32_t>(std::clamp<int64_t>(locality, 0, 3))), b_.getInt32(1)});
}

}  // namespace symtile::codegen
