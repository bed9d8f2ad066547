// Expressions: index arithmetic in linear form, guarded selects, everything else through OpEmitter.

#include <algorithm>
#include <unordered_set>

#include "symtile/backend/llvm/kernel_codegen.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

int64_t wrapped_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapped_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
std::optional<int64_t> constant_of(const Value* v) {
  const auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(v);
  return constant ? std::optional<int64_t>(constant->getSExtValue()) : std::nullopt;
}
/// Moves a constant value into the offset, and drops a zero stride.
Lanes normalized(Lanes a) {
  if (const auto c = constant_of(a.value); c && a.value->getType()->isIntegerTy(64)) {
    a.offset = wrapped_add(a.offset, *c);
    a.value = nullptr;
  }
  if (constant_of(a.stride) == 0) a.stride = nullptr;
  return a;
}

/// Calls f for the distinct nodes of `e` until it returns true.
bool any_node(const Expr& e, std::unordered_set<const ExprNode*>& seen,
              const std::function<bool(const Expr&)>& f) {
  if (!e.defined() || !seen.insert(&e.node()).second) return false;
  if (f(e)) return true;
  const auto go = [&](const Expr& child) { return any_node(child, seen, f); };
  if (const auto* n = e.as<Load>()) {
    return std::any_of(n->indices.begin(), n->indices.end(), go);
  }
  if (const auto* n = e.as<UnaryExpr>()) return go(n->a);
  if (const auto* n = e.as<BinaryExpr>()) return go(n->a) || go(n->b);
  if (const auto* n = e.as<SelectExpr>()) {
    return go(n->condition) || go(n->then_value) || go(n->else_value);
  }
  if (const auto* n = e.as<CastExpr>()) return go(n->a);
  if (const auto* n = e.as<ReduceExpr>()) return go(n->body);
  return false;
}

}  // namespace

Lanes KernelCodegen::add(const Lanes& a, const Lanes& b) {
  if (a.is_vector() || b.is_vector()) return {b_.CreateAdd(vector_of(a), vector_of(b))};
  Lanes out;
  out.value = a.value && b.value ? b_.CreateAdd(a.value, b.value) : (a.value ? a.value : b.value);
  out.offset = wrapped_add(a.offset, b.offset);
  out.stride =
      a.stride && b.stride ? b_.CreateAdd(a.stride, b.stride) : (a.stride ? a.stride : b.stride);
  return normalized(out);
}

Lanes KernelCodegen::subtract(const Lanes& a, const Lanes& b) {
  return add(a, multiply(b, Lanes{nullptr, -1}));
}

Lanes KernelCodegen::multiply(const Lanes& a, const Lanes& b) {
  if (a.is_vector() || b.is_vector() || (a.stride && b.stride)) {
    return {b_.CreateMul(vector_of(a), vector_of(b))};
  }
  if (a.is_constant() && !b.is_constant()) return multiply(b, a);
  if (b.stride) return multiply(b, a);
  // b is uniform.
  if (b.is_constant()) {
    const int64_t factor = b.offset;
    if (factor == 0) return {};
    const auto scale = [&](Value* v) -> Value* {
      if (!v || factor == 1) return v;
      if (factor == -1) return b_.CreateNeg(v);
      return b_.CreateMul(v, int_constant(i64(), factor));
    };
    return normalized({scale(a.value), wrapped_mul(a.offset, factor), scale(a.stride)});
  }
  Value* factor = first_lane(b);
  const auto scale = [&](Value* v) { return v ? b_.CreateMul(v, factor) : nullptr; };
  Lanes out{scale(a.value), 0, scale(a.stride)};
  if (a.offset != 0) {
    Value* constant_part = b_.CreateMul(factor, int_constant(i64(), a.offset));
    out.value = out.value ? b_.CreateAdd(out.value, constant_part) : constant_part;
  }
  return normalized(out);
}

Value* KernelCodegen::first_lane(const Lanes& a) {
  SYMTILE_CHECK(!a.is_vector(), "a scalar was expected");
  if (!a.value) return int_constant(i64(), a.offset);
  if (a.offset == 0) return a.value;
  return b_.CreateAdd(a.value, int_constant(i64(), a.offset));
}

Value* KernelCodegen::value_of(const Lanes& a) {
  if (a.is_vector()) return a.value;
  Value* first = first_lane(a);
  if (!a.stride) return first;
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(b_.getInt64(static_cast<uint64_t>(i)));
  Value* steps = llvm::ConstantVector::get(numbers);
  if (constant_of(a.stride) != 1) steps = b_.CreateMul(steps, broadcast(b_, a.stride, lanes_));
  return b_.CreateAdd(broadcast(b_, first, lanes_), steps);
}

Value* KernelCodegen::both(Value* mask, Value* condition) {
  if (!mask) return condition;
  return condition ? b_.CreateAnd(mask, condition) : mask;
}

Value* KernelCodegen::any_lane(Value* mask) {
  if (!mask || lane_count(mask) == 0) return mask ? mask : b_.getTrue();
  Value* bits = b_.CreateBitCast(mask, b_.getIntNTy(lane_count(mask)));
  return b_.CreateICmpNE(bits, int_constant(bits->getType(), 0));
}

void KernelCodegen::with_fresh_memo(const std::function<void()>& f) {
  auto saved = std::exchange(memo_, {{}});
  f();
  memo_ = std::move(saved);
}

void KernelCodegen::with_inner_memo(const std::function<void()>& f) {
  memo_.emplace_back();
  f();
  memo_.pop_back();
}

Lanes KernelCodegen::emit_root(const Expr& e) {
  Lanes out;
  with_fresh_memo([&] { out = emit(e); });
  return out;
}

Lanes KernelCodegen::emit(const Expr& e) {
  SYMTILE_CHECK(e.defined(), "an expression is missing in '{}'", source_.name);
  for (auto scope = memo_.rbegin(); scope != memo_.rend(); ++scope) {
    const auto it = scope->find(&e.node());
    if (it != scope->end()) return it->second;
  }
  const Lanes out = normalized(emit_node(e));
  memo_.back()[&e.node()] = out;
  return out;
}

Lanes KernelCodegen::emit_node(const Expr& e) {
  llvm::LLVMContext& context = module_.getContext();
  if (const auto* n = e.as<IntImm>()) {
    if (n->dtype == DType::i64) return {nullptr, n->value};
    const int64_t value = n->dtype == DType::boolean ? n->value != 0 : n->value;
    return {llvm::ConstantInt::get(compute_type(context, n->dtype), static_cast<uint64_t>(value),
                                   is_signed_int(n->dtype))};
  }
  if (const auto* n = e.as<FloatImm>()) {
    return {
        ops_.cast(n->dtype, n->dtype, float_constant(compute_type(context, n->dtype), n->value))};
  }
  if (const auto* n = e.as<VarRef>()) {
    const auto it = variables_.find(n->name);
    SYMTILE_CHECK(it != variables_.end(), "variable '{}' is not bound in tile function '{}'",
                  n->name, source_.name);
    return it->second.lanes;
  }
  if (const auto* n = e.as<Load>()) {
    const BufferSlot& buffer = slot(n->buffer);
    return {ops_.from_memory(buffer.dtype, load_lanes(buffer, place_in(buffer, n->indices)))};
  }
  if (const auto* n = e.as<UnaryExpr>()) {
    const Lanes a = emit(n->a);
    if (n->op == UnaryOp::neg && n->dtype == DType::i64) return subtract(Lanes{}, a);
    return {ops_.unary(n->op, n->a.dtype(), value_of(a))};
  }
  if (const auto* n = e.as<BinaryExpr>()) return emit_binary(*n);
  if (const auto* n = e.as<SelectExpr>()) return emit_select(*n);
  if (const auto* n = e.as<CastExpr>()) {
    const Lanes a = emit(n->a);
    if (n->dtype == DType::i64 && n->a.dtype() == DType::i64) return a;
    return {ops_.cast(n->a.dtype(), n->dtype, value_of(a))};
  }
  return emit_reduce(*e.as<ReduceExpr>());
}

Lanes KernelCodegen::emit_binary(const BinaryExpr& n) {
  if (const Segment* segment = find_segment(n)) {
    if (n.op == BinaryOp::floordiv) return segment->quotient;
    return add(segment->rest_less_var, variables_.at(segment_var_).lanes);
  }
  const Lanes a = emit(n.a);
  const Lanes b = emit(n.b);
  const DType dtype = n.a.dtype();
  if (dtype == DType::i64) {
    bool done = true;
    const Lanes out = emit_index_binary(n, a, b, done);
    if (done) return out;
  }
  Value* left = value_of(a);
  Value* right = value_of(b);
  const int lanes = static_cast<int>(std::max(lane_count(left), lane_count(right)));
  return {ops_.binary(n.op, dtype, broadcast(b_, left, lanes), broadcast(b_, right, lanes))};
}

Lanes KernelCodegen::emit_index_binary(const BinaryExpr& n, const Lanes& a, const Lanes& b,
                                       bool& done) {
  switch (n.op) {
    case BinaryOp::add:
      return add(a, b);
    case BinaryOp::sub:
      return subtract(a, b);
    case BinaryOp::mul:
      return multiply(a, b);
    case BinaryOp::div:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
    case BinaryOp::fmod: {
      const bool quotient = n.op == BinaryOp::div || n.op == BinaryOp::floordiv;
      if (b.is_constant() && b.offset == 1) return quotient ? a : Lanes{};
      if (!non_negative(n.a) || !non_negative(n.b)) break;
      Value* left = value_of(a);
      Value* right = value_of(b);
      const int lanes = static_cast<int>(std::max(lane_count(left), lane_count(right)));
      return {ops_.floor_divide_non_negative(n.op, broadcast(b_, left, lanes),
                                             broadcast(b_, right, lanes))};
    }
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge: {
      // Dimension arithmetic never wraps; numbers read from a tensor may.
      const bool may_wrap = touches_memory(n.a) || touches_memory(n.b);
      if (Value* mask = compare_linear(n.op, a, b, may_wrap)) return {mask};
      break;
    }
    default:
      break;
  }
  done = false;
  return {};
}

Value* KernelCodegen::compare_linear(BinaryOp op, const Lanes& a, const Lanes& b, bool may_wrap) {
  if (a.is_vector() || b.is_vector() || (!a.stride && !b.stride)) return nullptr;
  // Only a - b counts, and it is linear: lane i is d + i * s.
  const Lanes difference = subtract(a, b);
  const auto stride = constant_of(difference.stride);
  if (!difference.stride || !stride || *stride > (1 << 16) || *stride < -(1 << 16)) return nullptr;
  // Clamped to where the answer no longer changes, 32 bits suffice.
  const int64_t span = (std::abs(*stride) + 1) * (lanes_ + 1);
  Value* first =
      may_wrap ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, first_lane(a), first_lane(b))
               : first_lane(difference);
  first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, int_constant(i64(), -span));
  first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, int_constant(i64(), span));
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (int i = 0; i < lanes_; ++i) {
    steps.push_back(int_constant(b_.getInt32Ty(), i * *stride));
  }
  // d + i * s < 0  is  i * s < -d.
  Value* limit = b_.CreateNeg(b_.CreateTrunc(first, b_.getInt32Ty()));
  Value* left = llvm::ConstantVector::get(steps);
  Value* right = broadcast(b_, limit, lanes_);
  switch (op) {
    case BinaryOp::lt:
      return b_.CreateICmpSLT(left, right);
    case BinaryOp::le:
      return b_.CreateICmpSLE(left, right);
    case BinaryOp::gt:
      return b_.CreateICmpSGT(left, right);
    default:
      return b_.CreateICmpSGE(left, right);
  }
}

Lanes KernelCodegen::emit_select(const SelectExpr& n) {
  Value* condition = value_of(emit(n.condition));
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    return emit(constant->isOne() ? n.then_value : n.else_value);
  }
  const bool guarded = touches_memory(n.then_value) || touches_memory(n.else_value);
  if (guarded) {
    return lane_count(condition) ? emit_select_masked(n, condition)
                                 : emit_select_branch(n, condition);
  }
  Value* yes = value_of(emit(n.then_value));
  Value* no = value_of(emit(n.else_value));
  const int lanes =
      static_cast<int>(std::max({lane_count(condition), lane_count(yes), lane_count(no)}));
  return {b_.CreateSelect(condition, broadcast(b_, yes, lanes), broadcast(b_, no, lanes))};
}

Lanes KernelCodegen::emit_select_branch(const SelectExpr& n, Value* condition) {
  llvm::LLVMContext& context = module_.getContext();
  auto* then_block = llvm::BasicBlock::Create(context, "yes", llvm_function_);
  auto* else_block = llvm::BasicBlock::Create(context, "no", llvm_function_);
  auto* join = llvm::BasicBlock::Create(context, "chosen", llvm_function_);
  b_.CreateCondBr(condition, then_block, else_block);
  Value *yes = nullptr, *no = nullptr;
  b_.SetInsertPoint(then_block);
  with_inner_memo([&] { yes = emit_value(n.then_value); });
  then_block = b_.GetInsertBlock();
  b_.SetInsertPoint(else_block);
  with_inner_memo([&] { no = emit_value(n.else_value); });
  const int lanes = static_cast<int>(std::max(lane_count(yes), lane_count(no)));
  no = broadcast(b_, no, lanes);
  else_block = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(then_block);
  yes = broadcast(b_, yes, lanes);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  auto* result = b_.CreatePHI(yes->getType(), 2);
  result->addIncoming(yes, then_block);
  result->addIncoming(no, else_block);
  return {result};
}

Lanes KernelCodegen::emit_select_masked(const SelectExpr& n, Value* condition) {
  Value* outer_mask = mask_;
  const bool outer_active = some_lane_active_;
  const auto arm = [&](const Expr& e, Value* lanes) {
    mask_ = both(outer_mask, lanes);
    some_lane_active_ = false;
    Value* out = nullptr;
    with_inner_memo([&] { out = vector_of(emit(e)); });
    mask_ = outer_mask;
    some_lane_active_ = outer_active;
    return out;
  };
  Value* yes = arm(n.then_value, condition);
  Value* no = touches_memory(n.else_value) ? arm(n.else_value, b_.CreateNot(condition))
                                           : vector_of(emit(n.else_value));
  return {b_.CreateSelect(condition, yes, no)};
}

bool KernelCodegen::touches_memory(const Expr& e) {
  std::unordered_set<const ExprNode*> seen;
  return any_node(e, seen, [](const Expr& node) { return node.as<Load>() != nullptr; });
}

bool KernelCodegen::varies(const Expr& e) {
  std::unordered_set<const ExprNode*> seen;
  return any_node(e, seen, [&](const Expr& node) {
    if (const auto* v = node.as<VarRef>()) {
      const auto it = variables_.find(v->name);
      return it != variables_.end() && !it->second.lanes.is_uniform();
    }
    const auto* l = node.as<Load>();
    return l && slot(l->buffer).lanes > 1;
  });
}

bool KernelCodegen::non_negative(const Expr& e) {
  if (e.dtype() != DType::i64) return false;
  if (const auto value = e.as_int()) return *value >= 0;
  if (const auto* v = e.as<VarRef>()) {
    const auto it = variables_.find(v->name);
    return it != variables_.end() && it->second.non_negative;
  }
  const auto* n = e.as<BinaryExpr>();
  if (!n) return false;
  switch (n->op) {
    case BinaryOp::add:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::floordiv:
    case BinaryOp::min:
      return non_negative(n->a) && non_negative(n->b);
    case BinaryOp::max:
      return non_negative(n->a) || non_negative(n->b);
    case BinaryOp::floormod:
      return non_negative(n->b);
    default:
      return false;
  }
}

}  // namespace symtile::codegen
