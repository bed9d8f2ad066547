// transpose(x; perm): axis d of the result is axis perm[d] of x (ONNX Transpose).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const std::vector<int64_t> perm = c.attrs().get_ints("perm");
  const int rank = static_cast<int>(perm.size());
  c.require_rank(0, rank, rank);
  std::vector<bool> seen(perm.size(), false);
  Dims dims(perm.size(), DimExpr::unknown());
  for (size_t d = 0; d < perm.size(); ++d) {
    if (perm[d] < 0 || perm[d] >= rank || seen[static_cast<size_t>(perm[d])]) {
      c.fail(DiagId::bad_attribute, "perm is not a permutation of the {} axes", rank);
    }
    seen[static_cast<size_t>(perm[d])] = true;
    if (c.rank_known(0)) dims[d] = c.dims(0)[static_cast<size_t>(perm[d])];
  }
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const std::vector<int64_t> perm = c.attrs().get_ints("perm");
  const std::vector<int64_t> strides = x.strides();
  std::vector<int64_t> dims, from;
  for (int64_t p : perm) {
    dims.push_back(x.dims[static_cast<size_t>(p)]);
    from.push_back(strides[static_cast<size_t>(p)]);
  }
  RefTensor& y = c.out(x.dtype, dims);
  int64_t to = 0;
  for_each_index(dims,
                 [&](const auto& index) { y.copy_element(to++, x, flat_offset(index, from)); });
}

void lower(LowerContext& c) {
  const std::vector<int64_t> perm = c.attrs().get_ints("perm");
  const TensorRef x = c.in(0);
  c.compute(0, [&](const Index& out) {
    Index in(out.size());
    for (size_t d = 0; d < out.size(); ++d) in[static_cast<size_t>(perm[d])] = out[d];
    return x(std::move(in));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  using Ints = std::vector<int64_t>;
  return {
      {{Type::tensor({2, 3, 5}, DType::f32)}, {{"perm", Ints{2, 0, 1}}}},
      {.input_types = {Type::tensor({n, m}, DType::f32)},
       .attrs = {{"perm", Ints{1, 0}}},
       .symbols = {{"n", 17}, {"m", 33}}},
      {.input_types = {Type::tensor({2, n, 3, m}, DType::i32)},
       .attrs = {{"perm", Ints{0, 2, 1, 3}}},
       .symbols = {{"n", 1}, {"m", 0}}},
      {{Type::tensor({}, DType::u8)}, {{"perm", Ints{}}}, 0, 9},
  };
}

}  // namespace

extern const OpRecord transpose_op;
const OpRecord transpose_op = {
    .name = "transpose",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"perm", AttrSpec::Kind::integers, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
