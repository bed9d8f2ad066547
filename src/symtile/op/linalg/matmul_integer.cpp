// matmul_integer: matmul of (a - a_zero_point) and (b - b_zero_point) for 8-bit operands, summed
// in i32 (wrapping). Zero points broadcast against their whole operand: scalar, (m, 1), (n), ...
// Spec: ONNX MatMulInteger.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

std::vector<Type> deduce(DeduceContext& c) {
  for (int i = 0; i < 2; ++i) {
    c.require_dtype(i, is_byte, "i8 or u8");
    if (c.has(i + 2)) c.require_same_dtype(i, i + 2);
  }
  if (!c.rank_known(0) || !c.rank_known(1)) return {Type::tensor_any_rank(DType::i32)};
  c.require_rank(0, 2, 1 << 20);
  c.require_rank(1, 2, 1 << 20);
  const Dims &a = c.dims(0), &b = c.dims(1);
  c.require_equal(a.back(), b[b.size() - 2],
                  "the contracted dimension of the left and the right operand");
  for (int i = 0; i < 2; ++i) {
    if (!c.has(i + 2)) continue;
    c.require_rank(i + 2, 0, c.rank(i));
    if (c.rank_known(i + 2)) broadcast_dims(c, c.dims(i), c.dims(i + 2));
  }
  Dims out = broadcast_dims(c, batch_dims(a), batch_dims(b));
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  return {Type::tensor(std::move(out), DType::i32)};
}

void evaluate(EvalContext& c) {
  const RefTensor &a = c.in(0), &b = c.in(1);
  const size_t ra = a.dims.size();
  const int64_t m = a.dims[ra - 2], k = a.dims.back(), n = b.dims.back();
  const std::vector<int64_t> batch_a(a.dims.begin(), a.dims.end() - 2);
  const std::vector<int64_t> batch_b(b.dims.begin(), b.dims.end() - 2);
  std::vector<int64_t> dims = broadcast_extents(batch_a, batch_b);
  dims.insert(dims.end(), {m, n});
  RefTensor& out = c.out(DType::i32, dims);
  // The operand minus its zero point at batch offset `batch`, row r, column s.
  const auto centred = [&](int i, std::vector<int64_t> index) {
    const RefTensor& x = c.in(i);
    const int64_t value = x.as_int(broadcast_offset(x.dims, index));
    if (!c.has(i + 2)) return value;
    const RefTensor& zero = c.in(i + 2);
    // A zero point has the operand's alignment, so broadcast axes of the operand come first.
    std::vector<int64_t> local(index.end() - static_cast<int64_t>(x.dims.size()), index.end());
    for (size_t t = 0; t < local.size(); ++t) local[t] = x.dims[t] == 1 ? 0 : local[t];
    return value - zero.as_int(broadcast_offset(zero.dims, local));
  };
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    uint64_t sum = 0;
    for (int64_t t = 0; t < k; ++t) {
      std::vector<int64_t> left = index, right = index;
      left.back() = t;
      right[right.size() - 2] = t;
      sum += static_cast<uint64_t>(centred(0, left) * centred(1, right));
    }
    out.set_int(at++, static_cast<int64_t>(sum));
  });
}

void lower(LowerContext& c) {
  const DimExpr k = c.in(0).dims().back();
  const Dims& out = c.out_dims();
  const auto centred = [&](int i, const Index& index, const Dims& full) {
    const TensorRef x = c.in(i);
    const Expr value = cast(DType::i32, load_aligned(c.facts(), x, index, full));
    if (!c.has(i + 2)) return value;
    return value - cast(DType::i32, load_aligned(c.facts(), c.in(i + 2), index, full));
  };
  c.compute(0, [&](const Index& index) {
    return reduce_over(ReduceKind::sum, c.axis("k", k), [&](const Expr& t) {
      Index left = index, right = index;
      left.back() = t;
      right[right.size() - 2] = t;
      Dims full_left = out, full_right = out;
      full_left.back() = k;
      full_right[full_right.size() - 2] = k;
      return centred(0, left, full_left) * centred(1, right, full_right);
    });
  });
}

std::vector<OpSample> samples() {
  const auto u8 = [](Dims dims) { return Type::tensor(std::move(dims), DType::u8); };
  const auto i8 = [](Dims dims) { return Type::tensor(std::move(dims), DType::i8); };
  return {
      make_sample({u8({4, 3}), u8({3, 2}), u8({}), u8({})}, {}, {}, 0, 255),
      make_sample({u8({2, sym("m"), sym("k")}), i8({sym("k"), 5}), u8({sym("m"), 1}), i8({5})}, {},
                  {{"m", 3}, {"k", 19}}, 0, 100),
      make_sample({i8({1, 0}), i8({0, 2})}, {}, {}, -100, 100),
  };
}

}  // namespace

extern const OpRecord matmul_integer_op;
const OpRecord matmul_integer_op = {"matmul_integer", 2, 4, {}, deduce, evaluate, lower, samples};

}  // namespace symtile
