// matmul: (..., m, k) x (..., k, n) -> (..., m, n) with numpy broadcasting of the leading axes;
// `transpose_a` / `transpose_b` say that the last two axes of an operand are stored swapped.
// Spec: ONNX MatMul (1-D operands are reshaped by the importer), numpy.matmul.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, is_number, "a number type");
  if (!c.rank_known(0) || !c.rank_known(1)) return {Type::tensor_any_rank(c.dtype(0))};
  c.require_rank(0, 2, 1 << 20);
  c.require_rank(1, 2, 1 << 20);
  const Dims &a = c.dims(0), &b = c.dims(1);
  const size_t ta = c.attrs().get_bool("transpose_a", false) ? 1 : 0;
  const size_t tb = c.attrs().get_bool("transpose_b", false) ? 1 : 0;
  const size_t ra = a.size(), rb = b.size();
  c.require_equal(a[ra - 1 - ta], b[rb - 2 + tb],
                  "the contracted dimension of the left and the right operand");
  Dims out = broadcast_dims(c, batch_dims(a), batch_dims(b));
  out.push_back(a[ra - 2 + ta]);
  out.push_back(b[rb - 1 - tb]);
  return {Type::tensor(std::move(out), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor &a = c.in(0), &b = c.in(1);
  const bool ta = c.attrs().get_bool("transpose_a", false);
  const bool tb = c.attrs().get_bool("transpose_b", false);
  const size_t ra = a.dims.size(), rb = b.dims.size();
  const int64_t m = a.dims[ta ? ra - 1 : ra - 2], k = a.dims[ta ? ra - 2 : ra - 1];
  const int64_t n = b.dims[tb ? rb - 2 : rb - 1];
  const std::vector<int64_t> batch_a(a.dims.begin(), a.dims.end() - 2);
  const std::vector<int64_t> batch_b(b.dims.begin(), b.dims.end() - 2);
  std::vector<int64_t> batch = broadcast_extents(batch_a, batch_b);
  std::vector<int64_t> dims = batch;
  dims.insert(dims.end(), {m, n});
  RefTensor& out = c.out(a.dtype, dims);
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    const std::vector<int64_t> outer(index.begin(), index.end() - 2);
    const int64_t i = index[index.size() - 2], j = index.back();
    const int64_t base_a = broadcast_offset(batch_a, outer) * m * k;
    const int64_t base_b = broadcast_offset(batch_b, outer) * k * n;
    double sum = 0;
    uint64_t wrapped = 0;
    for (int64_t t = 0; t < k; ++t) {
      const int64_t pa = base_a + (ta ? t * m + i : i * k + t);
      const int64_t pb = base_b + (tb ? j * k + t : t * n + j);
      if (a.is_float_kind()) {
        sum += a.as_double(pa) * b.as_double(pb);
      } else {
        wrapped += static_cast<uint64_t>(a.as_int(pa)) * static_cast<uint64_t>(b.as_int(pb));
      }
    }
    if (a.is_float_kind()) {
      out.set(at++, sum);
    } else {
      out.set_int(at++, static_cast<int64_t>(wrapped));
    }
  });
}

void lower(LowerContext& c) {
  const TensorRef a = c.in(0), b = c.in(1);
  const bool ta = c.attrs().get_bool("transpose_a", false);
  const bool tb = c.attrs().get_bool("transpose_b", false);
  const DType acc = accumulation_type(c.out_dtype());
  const size_t ra = a.dims().size();
  const Dims& out = c.out_dims();
  // Operand at the batch part of `index`, then the two matrix coordinates.
  const auto at = [&](const TensorRef& x, const Index& index, Expr row, Expr column, bool swap) {
    Index position;
    const size_t batch = x.dims().size() - 2;
    const size_t skip = index.size() - 2 - batch;
    for (size_t k = 0; k < batch; ++k) {
      position.push_back(broadcast_index(c.facts(), x.dims()[k], out[skip + k], index[skip + k]));
    }
    position.push_back(swap ? column : row);
    position.push_back(swap ? row : column);
    return cast(acc, x(std::move(position)));
  };
  c.compute(0, [&](const Index& index) {
    const Axis k = c.axis("k", ta ? a.dims()[ra - 2] : a.dims()[ra - 1]);
    const Expr i = index[index.size() - 2], j = index.back();
    return cast(c.out_dtype(), reduce_over(ReduceKind::sum, k, [&](const Expr& t) {
                  return at(a, index, i, t, ta) * at(b, index, t, j, tb);
                }));
  });
}

std::vector<OpSample> samples() {
  const Type left_i32 = Type::tensor({4, 9}, DType::i32);
  const Type right_i32 = Type::tensor({9, 2}, DType::i32);
  return {
      make_sample({f32_tensor({5, 7}), f32_tensor({7, 3})}),
      make_sample({f32_tensor({sym("b"), sym("m"), sym("k")}), f32_tensor({sym("k"), sym("n")})},
                  {}, {{"b", 2}, {"m", 3}, {"k", 17}, {"n", 5}}),
      make_sample({f32_tensor({2, 1, sym("k"), 4}), f32_tensor({3, sym("n"), sym("k")})},
                  {{"transpose_a", int64_t{1}}, {"transpose_b", int64_t{1}}}, {{"k", 9}, {"n", 6}}),
      make_sample({f32_tensor({1, 0, 6}), f32_tensor({6, 4})}),
      make_sample({f32_tensor({3, 0}), f32_tensor({0, 4})}),
      make_sample({left_i32, right_i32}, {}, {}, -9, 9),
  };
}

}  // namespace

extern const OpRecord matmul_op;
const OpRecord matmul_op = {
    "matmul", 2,
    2,        {{"transpose_a", AttrSpec::Kind::integer}, {"transpose_b", AttrSpec::Kind::integer}},
    deduce,   evaluate,
    lower,    samples};

}  // namespace symtile
