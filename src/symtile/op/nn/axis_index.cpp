#include "symtile/op/nn/axis_index.h"

namespace symtile {

size_t axis_position(const Attributes& attrs, int rank, int64_t fallback) {
  const int64_t axis = attrs.get_int("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

Index with_axis(Index index, size_t axis, Expr position) {
  index.at(axis) = std::move(position);
  return index;
}

Index without_axis(Index index, size_t axis) {
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
  return index;
}

Dims without_axis(Dims dims, size_t axis) {
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return dims;
}

std::vector<Type> deduce_along_axis(DeduceContext& c) {
  if (c.rank_known(0)) c.normalize_axis(c.attrs().get_int("axis", -1), c.rank(0));
  return deduce_float_unary(c);
}

void evaluate_along_axis(EvalContext& c,
                         const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  const RefTensor& x = c.in(0);
  const size_t axis = axis_position(c.attrs(), x.rank(), -1);
  RefTensor& out = c.out(x.dtype, x.dims);
  std::vector<int64_t> lines = x.dims;
  lines[axis] = 1;
  const std::vector<int64_t> strides = x.strides();
  if (x.dims[axis] == 0) return;
  for_each_index(lines, [&](const std::vector<int64_t>& index) {
    int64_t first = 0;
    for (size_t k = 0; k < index.size(); ++k) first += index[k] * strides[k];
    std::vector<double> line;
    for (int64_t k = 0; k < x.dims[axis]; ++k)
      line.push_back(x.as_double(first + k * strides[axis]));
    line = f(line);
    for (int64_t k = 0; k < x.dims[axis]; ++k) {
      out.set(first + k * strides[axis], line[static_cast<size_t>(k)]);
    }
  });
}

std::vector<OpSample> along_axis_samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out(5);
  out[0].input_types = {Type::tensor({3, 17}, DType::f32)};
  out[1].input_types = {Type::tensor({n, m, 6}, DType::f32)};
  out[1].attrs = {{"axis", int64_t{1}}};
  out[1].symbols = {{"n", 2}, {"m", 13}};
  out[2].input_types = {Type::tensor({n, 2 * m + 1}, DType::f32)};
  out[2].symbols = {{"n", 5}, {"m", 33}};
  out[2].low = -50, out[2].high = 80;
  out[3].input_types = {Type::tensor({4, n}, DType::f16)};
  out[3].symbols = {{"n", 9}};
  out[3].tolerance = sample_tolerance(DType::f16);
  out[4].input_types = {Type::tensor({n, 0}, DType::f32)};
  out[4].symbols = {{"n", 3}};
  return out;
}

SoftmaxStats softmax_stats(LowerContext& c, size_t axis) {
  const TensorRef x = c.in(0);
  const DType dtype = compute_dtype(x.dtype());
  const Dims lines = without_axis(x.dims(), axis);
  const auto along = [&](ReduceKind kind, const Index& line,
                         const std::function<Expr(Expr)>& body) {
    return reduce_over(kind, c.axis("r", x.dims()[axis]), [&](Expr r) {
      Index at = line;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), r);
      return body(widen(x(at)));
    });
  };
  const TensorRef largest = c.temporary("largest", dtype, lines, [&](const Index& line) {
    return along(ReduceKind::max, line, [](Expr e) { return e; });
  });
  const TensorRef sum = c.temporary("sum", dtype, lines, [&](const Index& line) {
    return along(ReduceKind::sum, line,
                 [&](Expr e) { return unary(UnaryOp::exp, e - largest(line)); });
  });
  return {largest, sum};
}

}  // namespace symtile
