// conv_integer: conv of (x - x_zero_point) with (w - w_zero_point) for 8-bit operands, summed in
// i32 (wrapping); padding contributes zero after the zero point is taken off. x_zero_point has
// one element, w_zero_point has one element or one for each output channel.
// Spec: ONNX ConvInteger.
#include "symtile/op/nn/conv.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

std::vector<Type> deduce(DeduceContext& c) {
  for (int i = 0; i < 2; ++i) {
    c.require_dtype(i, is_byte, "i8 or u8");
    if (!c.has(i + 2)) continue;
    c.require_same_dtype(i, i + 2);
    c.require_rank(i + 2, 0, 1);
  }
  const std::optional<Dims> dims = deduce_conv_dims(c);
  if (!dims) return {Type::tensor_any_rank(DType::i32)};
  if (c.has(2) && c.rank_known(2) && c.rank(2) == 1) {
    c.require_equal(c.dims(2)[0], 1, "the length of the input's zero point");
  }
  if (c.has(3) && c.rank_known(3) && c.rank(3) == 1 && !c.dims(3)[0].is_const(1)) {
    c.require_equal(c.dims(3)[0], (*dims)[1], "the length of the weight's zero point");
  }
  return {Type::tensor(*dims, DType::i32)};
}

void evaluate(EvalContext& c) {
  const ConcreteWindow window = conv_window(c);
  const std::vector<int64_t> dims = conv_extents(c, window);
  RefTensor& out = c.out(DType::i32, dims);
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    const int64_t x_zero = c.has(2) ? c.in(2).as_int(0) : 0;
    const int64_t w_zero = c.has(3) ? c.in(3).as_int(c.in(3).size() == 1 ? 0 : index[1]) : 0;
    uint64_t sum = 0;
    for_each_conv_tap(c, index, window, [&](const ConvTap& tap) {
      if (tap.x < 0) return;
      sum += static_cast<uint64_t>((c.in(0).as_int(tap.x) - x_zero) *
                                   (c.in(1).as_int(tap.w) - w_zero));
    });
    out.set_int(at++, static_cast<int64_t>(sum));
  });
}

void lower(LowerContext& c) {
  const auto zero_point = [&](int i, const Expr& channel) {
    const TensorRef zero = c.in(i);
    Index at;
    if (zero.rank() == 1) {
      at.push_back(broadcast_index(c.facts(), zero.dims()[0], c.out_dims()[1], channel));
    }
    return cast(DType::i32, zero(at));
  };
  c.compute(0, [&](const Index& index) {
    return conv_sum(
        c, index,
        [&](const Index& at, const Expr& in_bounds) {
          Expr value = cast(DType::i32, c.in(0)(at));
          if (c.has(2)) {
            const TensorRef zero = c.in(2);
            value =
                value - cast(DType::i32, zero(Index(static_cast<size_t>(zero.rank()), Expr(0))));
          }
          return guarded(in_bounds, value, int_imm(DType::i32, 0));
        },
        [&](const Index& at) {
          const Expr value = cast(DType::i32, c.in(1)(at));
          return c.has(3) ? value - zero_point(3, index[1]) : value;
        });
  });
}

std::vector<OpSample> samples() {
  const auto u8 = [](Dims dims) { return Type::tensor(std::move(dims), DType::u8); };
  const auto i8 = [](Dims dims) { return Type::tensor(std::move(dims), DType::i8); };
  return {
      make_sample({u8({1, 2, 5, 5}), u8({3, 2, 3, 3}), u8({}), u8({})},
                  {{"pads", Dims{1, 1, 1, 1}}}, {}, 0, 255),
      make_sample({u8({sym("b"), 4, sym("h"), 6}), i8({4, 2, 3, 3}), u8({1}), i8({4})},
                  {{"group", int64_t{2}}, {"strides", std::vector<int64_t>{2, 1}}},
                  {{"b", 2}, {"h", 7}}, 0, 100),
      make_sample({u8({1, 1, 8}), i8({1, 1, 3})}, {}, {}, 0, 100),
  };
}

}  // namespace

extern const OpRecord conv_integer_op;
const OpRecord conv_integer_op = {
    "conv_integer", 2,        4,     window_attrs({{"group", AttrSpec::Kind::integer}}),
    deduce,         evaluate, lower, samples};

}  // namespace symtile
