#include "symtile/backend/llvm/kernel_codegen.h"

#include <llvm/IR/MDBuilder.h>

#include "symtile/ir/lower_tasks.h"

namespace symtile::codegen {

using llvm::Value;

KernelCodegen::KernelCodegen(llvm::Module& module, const TileFunction& function,
                             const CpuTarget& target, std::string symbol)
    : module_(module),
      source_(without_tasks(function)),
      target_(target),
      symbol_(std::move(symbol)),
      b_(module.getContext()),
      ops_(b_, target_) {
  SYMTILE_CHECK(function.is_scheduled(), "tile function '{}' still has compute stages",
                function.name);
}

void KernelCodegen::create_function() {
  llvm::Type* pointer = b_.getPtrTy();
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, i64(), i64()}, false);
  llvm_function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol_, module_);
  const char* names[] = {"buffers", "symbols", "scratch", "begin", "end"};
  for (unsigned i = 0; i < 5; ++i) llvm_function_->getArg(i)->setName(names[i]);
  // Only the scratch area is private to this call; what `buffers` points to may alias.
  for (unsigned i : {0u, 1u}) {
    llvm_function_->addParamAttr(i, llvm::Attribute::NoAlias);
    llvm_function_->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  llvm_function_->addParamAttr(2, llvm::Attribute::NoAlias);
  llvm_function_->addParamAttr(
      2, llvm::Attribute::getWithAlignment(module_.getContext(), llvm::Align(64)));
  entry_ = llvm::BasicBlock::Create(module_.getContext(), "entry", llvm_function_);
  b_.SetInsertPoint(entry_);
}

void KernelCodegen::collect_scoped_buffers(const Stmt& s, std::vector<std::string>& names) {
  visit(
      s,
      [&](const Stmt& child) {
        if (const auto* n = as<AllocateStmt>(child)) names.push_back(n->buffer.name);
      },
      nullptr);
}

void KernelCodegen::assign_alias_scopes() {
  // One scope for each buffer. A function marked `inplace` may get one memory as input and
  // output, so there inputs and outputs are not told apart.
  const bool in_place = source_.attrs.get_bool("inplace", false);
  std::vector<std::string> names;
  std::vector<int> kinds;  // 0 input, 1 output, 2 allocated
  for (const Buffer& buffer : source_.inputs) names.push_back(buffer.name);
  kinds.resize(names.size(), 0);
  for (const Buffer& buffer : source_.outputs) names.push_back(buffer.name);
  kinds.resize(names.size(), 1);
  collect_scoped_buffers(source_.body, names);
  kinds.resize(names.size(), 2);

  llvm::LLVMContext& context = module_.getContext();
  llvm::MDBuilder builder(context);
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i < names.size(); ++i) {
    scopes.push_back(builder.createAnonymousAliasScope(domain));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < names.size(); ++j) {
      const bool may_share = in_place && kinds[i] + kinds[j] == 1;
      if (j != i && names[j] != names[i] && !may_share) others.push_back(scopes[j]);
    }
    // Two allocations of one name share the scope of the last; neither excludes the other.
    alias_scopes_[names[i]] = {llvm::MDNode::get(context, {scopes[i]}),
                               others.empty() ? nullptr : llvm::MDNode::get(context, others)};
  }
}

KernelCodegen::BufferSlot KernelCodegen::make_slot(const Buffer& buffer, Value* base) {
  BufferSlot out;
  out.dtype = buffer.dtype;
  out.base = base;
  const size_t rank = buffer.dims.size();
  const DimExpr size = product(buffer.dims);
  out.elements = size.as_const();
  Dims strides = buffer.strides;
  if (strides.empty()) {
    strides.assign(rank, DimExpr(1));
    for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * buffer.dims[i];
  } else {
    SYMTILE_CHECK(strides.size() == rank, "buffer '{}' has {} strides for {} dimensions",
                  buffer.name, strides.size(), rank);
    // A padded buffer spans more than the product of its dimensions.
    DimExpr span(1);
    for (size_t i = 0; i < rank; ++i) span += (buffer.dims[i] - 1) * strides[i];
    out.elements = span.as_const();
  }
  for (const DimExpr& stride : strides) out.strides.push_back(emit_root(to_expr(stride)));
  return out;
}

void KernelCodegen::bind_parameters() {
  for (size_t i = 0; i < source_.symbols.size(); ++i) {
    const std::string& name = source_.symbols[i];
    Value* address = b_.CreateConstInBoundsGEP1_64(i64(), llvm_function_->getArg(1), i);
    Value* value = b_.CreateLoad(i64(), address, name);
    const auto low = source_.facts.lower_bound(DimExpr::symbol(name));
    variables_[name] = {Lanes{value}, low && *low >= 0};
  }
  size_t index = 0;
  for (const auto* list : {&source_.inputs, &source_.outputs}) {
    for (const Buffer& buffer : *list) {
      Value* address =
          b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), llvm_function_->getArg(0), index++);
      auto* base = b_.CreateLoad(b_.getPtrTy(), address, buffer.name);
      base->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(module_.getContext(), {}));
      BufferSlot made = make_slot(buffer, base);
      std::tie(made.scope, made.no_alias) = alias_scopes_.at(buffer.name);
      buffers_[buffer.name] = std::move(made);
    }
  }
}

llvm::AllocaInst* KernelCodegen::entry_alloca(llvm::Type* type, int64_t count) {
  Builder at_entry(entry_, entry_->begin());
  llvm::Type* array = llvm::ArrayType::get(type, static_cast<uint64_t>(count));
  auto* storage = at_entry.CreateAlloca(count == 1 ? type : array);
  storage->setAlignment(llvm::Align(64));
  return storage;
}

KernelCode KernelCodegen::build() {
  KernelCode code;
  code.symbol = symbol_;
  create_function();
  assign_alias_scopes();
  bind_parameters();
  auto* body = llvm::BasicBlock::Create(module_.getContext(), "body", llvm_function_);
  b_.SetInsertPoint(body);
  emit_parallel(code);
  b_.CreateRetVoid();
  Builder(entry_).CreateBr(body);
  code.scratch_bytes = scratch_bytes_;
  return code;
}

void KernelCodegen::emit_parallel(KernelCode& code) {
  // A chain of parallel loops with nothing between them is one loop over their product.
  std::vector<const ForStmt*> chain;
  std::vector<DimExpr> extents;
  DimExpr total(1);
  std::set<std::string> bound;
  Stmt body = source_.body;
  while (const auto* loop = as<ForStmt>(body)) {
    if (loop->kind != LoopKind::parallel) break;
    const auto begin = to_dim_expr(loop->begin);
    const auto end = to_dim_expr(loop->end);
    if (!begin || !end) break;
    const DimExpr extent = max(ceildiv(*end - *begin, DimExpr(loop->step)), DimExpr(0));
    bool closed = true;  // depends on no outer loop of the chain
    for (const std::string& symbol : extent.symbols()) closed &= !bound.count(symbol);
    if (!closed) break;
    chain.push_back(loop);
    extents.push_back(source_.facts.simplify(extent));
    total *= extents.back();
    bound.insert(loop->var);
    body = loop->body;
  }
  if (chain.empty()) {
    code.parallel_extent = DimExpr(1);
    // The one iteration belongs to whoever was given it.
    Value* mine = b_.CreateICmpSLT(llvm_function_->getArg(3), llvm_function_->getArg(4));
    auto* run = llvm::BasicBlock::Create(module_.getContext(), "run", llvm_function_);
    auto* exit = llvm::BasicBlock::Create(module_.getContext(), "exit", llvm_function_);
    b_.CreateCondBr(mine, run, exit);
    b_.SetInsertPoint(run);
    emit(source_.body);
    b_.CreateBr(exit);
    b_.SetInsertPoint(exit);
    return;
  }
  code.parallel_extent = total;
  std::vector<Value*> counts;
  for (const DimExpr& extent : extents) counts.push_back(first_lane(emit_root(to_expr(extent))));
  counted_loop(Lanes{llvm_function_->getArg(3)}, Lanes{llvm_function_->getArg(4)}, 1, Hint::none,
               [&](Value* task) {
                 std::function<void(size_t, Value*)> bind = [&](size_t i, Value* rest) {
                   // Peel the innermost loop's position off the task number.
                   Value* position = rest;
                   Value* outer = nullptr;
                   if (i > 0) {
                     position = b_.CreateURem(rest, counts[i]);
                     outer = b_.CreateUDiv(rest, counts[i]);
                   }
                   const ForStmt& loop = *chain[i];
                   const auto next = [&] {
                     if (i > 0) {
                       bind(i - 1, outer);
                     } else {
                       emit(body);
                     }
                   };
                   Lanes value = multiply(Lanes{position}, Lanes{nullptr, loop.step});
                   value = add(emit_root(loop.begin), value);
                   with_variable(loop.var, {value, non_negative(loop.begin)}, next);
                 };
                 bind(chain.size() - 1, task);
               });
}

}  // namespace symtile::codegen
