// Rotary positions: x * cos + turned(x) * sin, where `turned` moves the halves of the last axis to
// (-second, first). cos and sin broadcast to x. `interleaved`: pairs stand side by side instead of
// half an axis apart, and turned is (-x1, x0, -x3, x2, ...). ONNX RotaryEmbedding-23 in the form
// that models spell out.
#include "symtile/op/elementwise.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float_dtype, "a float type");
  for (int i = 1; i < 3; ++i) c.require_same_dtype(0, i);
  if (!c.rank_known(0)) return {c.arg(0)};
  c.require_rank(0, 1, 1 << 20);
  const Dims& x = c.dims(0);
  c.require_equal(floormod(x.back(), 2), 0, "what is left when the last axis is halved");
  for (int i = 1; i < 3; ++i) {
    if (!c.rank_known(i)) continue;
    c.require_rank(i, 0, c.rank(0));
    const Dims wide = broadcast_dims(c, c.dims(i), x);
    for (size_t k = 0; k < wide.size(); ++k)
      c.require_equal(wide[k], x[k], fmt::format("dimension {} of operand {}", k, i));
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& out = c.out(x.dtype, x.dims);
  const bool interleaved = c.attrs().get_bool("interleaved", false);
  const int64_t half = x.dims.back() / 2;
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const int64_t d = index.back();
    const bool first = interleaved ? d % 2 == 0 : d < half;
    const int64_t away = (interleaved ? 1 : half) * (first ? 1 : -1);
    const double turned = (first ? -1 : 1) * x.as_double(at + away);
    out.set(at, x.as_double(at) * c.in(1).as_double(broadcast_offset(c.in(1).dims, index)) +
                    turned * c.in(2).as_double(broadcast_offset(c.in(2).dims, index)));
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const bool interleaved = c.attrs().get_bool("interleaved", false);
  c.compute(0, [&](const Index& i) {
    const Expr d = i.back(), half = to_expr(floordiv(x.dims().back(), 2));
    const Expr away = interleaved ? Expr(1) : half;
    const auto at = [&](const Expr& position) {
      Index moved = i;
      moved.back() = position;
      return widen(x(moved));
    };
    const Expr first = interleaved ? equal(floormod(d, Expr(2)), Expr(0)) : d < half;
    const Expr turned = select(first, -at(d + away), at(d - away));
    return widen(x(i)) * widen(c.load_broadcast(c.in(1), i, c.out_dims())) +
           turned * widen(c.load_broadcast(c.in(2), i, c.out_dims()));
  });
}

std::vector<OpSample> samples() {
  const DimExpr b = sym("b"), s = sym("s");
  const Type x = f32_tensor({b, 2, s, 16}), angle = f32_tensor({1, 1, s, 16});
  return {
      make_sample({x, angle, angle}, {}, {{"b", 2}, {"s", 7}}),
      make_sample({x, angle, angle}, {{"interleaved", int64_t{1}}}, {{"b", 1}, {"s", 5}}),
      make_sample({f32_tensor({3, 6}), f32_tensor({6}), f32_tensor({3, 1})}),
  };
}

}  // namespace

extern const OpRecord rotary_embedding_op;
const OpRecord rotary_embedding_op = {
    .name = "rotary_embedding",
    .min_args = 3,
    .max_args = 3,
    .attrs = {{"interleaved", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
