// Helpers of the reference meanings.
#include <algorithm>

#include "symtile/op/op.h"

namespace symtile {

std::vector<int64_t> EvalContext::dims_attr(std::string_view name) const {
  std::vector<int64_t> out;
  for (const DimExpr& d : call.attrs.get_dims(name)) out.push_back(d.evaluate(symbols));
  return out;
}

RefTensor& EvalContext::out(DType dtype, std::vector<int64_t> dims) {
  outputs.emplace_back(dtype, std::move(dims));
  return outputs.back();
}

std::vector<int64_t> broadcast_extents(const std::vector<int64_t>& a,
                                       const std::vector<int64_t>& b) {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  std::vector<int64_t> out = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t k = 0; k < shorter.size(); ++k) {
    int64_t& d = out[shift + k];
    if (d == shorter[k] || shorter[k] == 1) continue;
    if (d != 1) {
      fail(DiagId::bad_input, nullptr, "shapes [{}] and [{}] do not broadcast: {} and {}",
           fmt::join(a, ", "), fmt::join(b, ", "), d, shorter[k]);
    }
    d = shorter[k];
  }
  return out;
}

int64_t broadcast_offset(const std::vector<int64_t>& dims, const std::vector<int64_t>& index) {
  SYMTILE_CHECK(dims.size() <= index.size());
  const size_t shift = index.size() - dims.size();
  int64_t offset = 0;
  for (size_t k = 0; k < dims.size(); ++k) {
    offset = offset * dims[k] + (dims[k] == 1 ? 0 : index[shift + k]);
  }
  return offset;
}

}  // namespace symtile
