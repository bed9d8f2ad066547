// Reduce expressions: a loop nest around a scalar (or one vector) accumulator.

#include "symtile/backend/llvm/kernel_codegen.h"
#include "symtile/ir/reduction.h"

namespace symtile::codegen {

using llvm::Value;

namespace {

/// Reductions over this many points or fewer (pooling windows, say) are expanded.
constexpr int64_t kMaxUnrolledPoints = 16;

}  // namespace

void KernelCodegen::reduce_axes(const ReduceExpr& n, size_t axis, bool unroll,
                                const std::function<void()>& f) {
  if (axis == n.axes.size()) {
    with_inner_memo(f);
    return;
  }
  const std::string& name = n.axes[axis].name;
  const Lanes extent = emit_root(to_expr(n.axes[axis].extent));
  const auto next = [&] { reduce_axes(n, axis + 1, unroll, f); };
  if (unroll && extent.is_constant()) {
    for (int64_t i = 0; i < extent.offset; ++i) {
      with_variable(name, {Lanes{nullptr, i}, true}, next);
    }
    return;
  }
  counted_loop(Lanes{}, extent, 1, Hint::none,
               [&](Value* i) { with_variable(name, {Lanes{i}, true}, next); });
}

Lanes KernelCodegen::emit_reduce(const ReduceExpr& n) {
  switch (n.kind) {
    case ReduceKind::argmax:
    case ReduceKind::argmin:
    case ReduceKind::argmax_last:
    case ReduceKind::argmin_last:
      return emit_arg_reduce(n);
    default:
      break;
  }
  // Names of axes that are taken outside mean other values inside: forget what was emitted.
  bool hides = false;
  DimExpr points(1);
  for (const Axis& axis : n.axes) {
    hides |= variables_.count(axis.name) > 0;
    points *= axis.extent;
  }
  const auto count = points.as_const();
  const bool unroll = count && *count <= kMaxUnrolledPoints;
  const BinaryOp op = combining_operator(n.kind);
  const DType dtype = n.dtype;
  const bool spread = lanes_ > 1 && varies(n.body);
  llvm::Constant* neutral = ops_.identity(op, dtype);
  if (op == BinaryOp::add && is_float(dtype)) {
    neutral = float_constant(neutral->getType(), 0);  // the sum over nothing is +0
  }
  llvm::Type* type = with_lanes(neutral->getType(), spread ? lanes_ : 1);
  auto* accumulator = entry_alloca(type, 1);
  b_.CreateStore(broadcast(b_, neutral, spread ? lanes_ : 1), accumulator);
  const int lanes = spread ? lanes_ : 1;
  const auto step = [&] {
    reduce_axes(n, 0, unroll, [&] {
      const auto* product = n.body.as<BinaryExpr>();
      const bool fused =
          op == BinaryOp::add && is_float(dtype) && product && product->op == BinaryOp::mul;
      Value* a = broadcast(b_, emit_value(fused ? product->a : n.body), lanes);
      Value* b = fused ? broadcast(b_, emit_value(product->b), lanes) : nullptr;
      llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
      if (is_float(dtype)) {
        llvm::FastMathFlags flags;
        flags.setAllowReassoc();
        b_.setFastMathFlags(flags);
      }
      Value* old = b_.CreateLoad(type, accumulator);
      Value* result;
      if (fused) {
        result = ops_.multiply_add(a, b, old);
      } else if (is_float(dtype) && !spread && (op == BinaryOp::max || op == BinaryOp::min)) {
        result = b_.CreateBinaryIntrinsic(
            op == BinaryOp::max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, old, a);
      } else {
        result = ops_.binary(op, dtype, old, a);
      }
      b_.CreateStore(result, accumulator);
    });
  };
  hides ? with_fresh_memo(step) : step();
  return {b_.CreateLoad(type, accumulator)};
}

Lanes KernelCodegen::emit_arg_reduce(const ReduceExpr& n) {
  SYMTILE_CHECK(n.axes.size() == 1, "{} over {} axes", name_of(n.kind), n.axes.size());
  const bool is_max = n.kind == ReduceKind::argmax || n.kind == ReduceKind::argmax_last;
  const bool last = n.kind == ReduceKind::argmax_last || n.kind == ReduceKind::argmin_last;
  const DType dtype = n.body.dtype();
  const int lanes = lanes_ > 1 && varies(n.body) ? lanes_ : 1;
  llvm::Constant* worst = ops_.identity(is_max ? BinaryOp::max : BinaryOp::min, dtype);
  llvm::Type* value_type = with_lanes(worst->getType(), lanes);
  llvm::Type* index_type = with_lanes(i64(), lanes);
  auto* best = entry_alloca(value_type, 1);
  auto* position = entry_alloca(index_type, 1);
  b_.CreateStore(broadcast(b_, worst, lanes), best);
  b_.CreateStore(llvm::Constant::getNullValue(index_type), position);
  with_fresh_memo([&] {
    reduce_axes(n, 0, false, [&] {
      Value* x = broadcast(b_, emit_value(n.body), lanes);
      Value* old = b_.CreateLoad(value_type, best);
      const BinaryOp better =
          is_max ? (last ? BinaryOp::ge : BinaryOp::gt) : (last ? BinaryOp::le : BinaryOp::lt);
      Value* take = ops_.binary(better, dtype, x, old);
      if (is_float(dtype)) {
        Value* nan = b_.CreateFCmpUNO(x, x);
        if (!last) nan = b_.CreateAnd(nan, b_.CreateFCmpORD(old, old));
        take = b_.CreateOr(take, nan);
      }
      b_.CreateStore(b_.CreateSelect(take, x, old), best);
      Value* here = broadcast(b_, first_lane(variables_.at(n.axes[0].name).lanes), lanes);
      Value* before = b_.CreateLoad(index_type, position);
      b_.CreateStore(b_.CreateSelect(take, here, before), position);
    });
  });
  Value* out = b_.CreateLoad(index_type, position);
  if (n.dtype == DType::i64) return {out};
  return {ops_.cast(DType::i64, n.dtype, out)};
}

}  // namespace symtile::codegen
