#include "symtile/op/linalg/contract.h"

namespace symtile {

Expr broadcast_index(const Facts& facts, const DimExpr& dim, const DimExpr& out, const Expr& i) {
  if (dim.is_const(1)) return Expr(0);
  if (dim == out || dim.is_const() || facts.proves_equal(dim, out)) return i;
  return min(i, to_expr(dim - 1));
}

Expr load_aligned(const Facts& facts, const TensorRef& x, const Index& index, const Dims& out) {
  const size_t rank = x.dims().size();
  const size_t skip = index.size() - rank;
  Index at;
  for (size_t k = 0; k < rank; ++k) {
    at.push_back(broadcast_index(facts, x.dims()[k], out[skip + k], index[skip + k]));
  }
  return x(std::move(at));
}

Dims batch_dims(const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); }

}  // namespace symtile
