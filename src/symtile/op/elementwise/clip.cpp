// min(max(x, low), high) with optional scalar bounds: ONNX Clip-13. NaN is kept; where low exceeds
// high the result is high, as in numpy.
#include "symtile/ir/scalar_eval.h"
#include "symtile/op/elementwise.h"

namespace symtile {

namespace {
/// A bound has one element: rank 0, or every dimension 1.
void require_scalar(DeduceContext& c, int i) {
  if (!c.has(i) || !c.rank_known(i)) return;
  for (const DimExpr& d : c.dims(i)) {
    c.require_equal(d, 1, fmt::format("a dimension of bound {}", i));
  }
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& out = c.out(x.dtype, x.dims);
  out = x;
  const auto apply = [&](int arg, BinaryOp op) {
    if (!c.has(arg)) return;
    const RefTensor& bound = c.in(arg);
    for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
      if (x.is_float_kind()) {
        out.f[i] = eval_binary(op, out.f[i], bound.f.at(0));
      } else {
        out.i[i] = eval_binary_int(op, x.dtype, out.i[i], bound.i.at(0));
      }
    }
  };
  apply(1, BinaryOp::max);
  apply(2, BinaryOp::min);
}

/// The single element of bound i.
Expr bound_value(const LowerContext& c, int i) {
  if (c.constant(i) != nullptr) return operand(c, i, {});
  const TensorRef t = c.in(i);
  return widen(t(Index(t.dims().size(), Expr(0))));
}

void lower(LowerContext& c) {
  lower_unary(c, [&](Expr x) {
    if (c.has(1)) x = max(x, bound_value(c, 1));
    if (c.has(2)) x = min(x, bound_value(c, 2));
    return x;
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (DType t : {DType::f32, DType::i32, DType::f16}) {
    for (OpSample& s : unary_samples(t, -5, 5)) {
      s.input_types.push_back(Type::tensor({}, t));
      s.input_types.push_back(Type::tensor({}, t));
      s.constants[1] = make_scalar(t, -2);
      s.constants[2] = make_scalar(t, 3);
      out.push_back(std::move(s));
    }
  }
  OpSample only_low;
  only_low.input_types = {Type::tensor({9}, DType::f32), Type::tensor({}, DType::f32)};
  out.push_back(only_low);
  return out;
}
}  // namespace

extern const OpRecord clip_op;
const OpRecord clip_op = {
    .name = "clip",
    .min_args = 1,
    .max_args = 3,
    .attrs = {},
    .deduce = [](DeduceContext& c) -> std::vector<Type> {
      c.require_dtype(0, is_number, "a float or integer type");
      for (int i = 1; i < c.num_args(); ++i) {
        if (c.has(i)) c.require_same_dtype(0, i);
      }
      for (int i = 1; i < c.num_args(); ++i) require_scalar(c, i);
      return {c.arg(0)};
    },
    .evaluate = evaluate,
    .lower = lower,
    .samples = [] { return samples(); },
};

}  // namespace symtile
