// nonzero: positions of the elements that are not zero (NaN is not zero, -0.0 is).
#include "symtile/runtime/builtins/element.h"

namespace symtile {

namespace {

template <typename T>
void find_nonzero(BuiltinContext& c, const BuiltinTensor& x) {
  const T* data = x.as<T>();
  const int64_t size = x.size();
  int64_t count = 0;
  for (int64_t i = 0; i < size; ++i) count += element_is_zero(data[i]) ? 0 : 1;
  const auto rank = static_cast<size_t>(x.rank());
  auto* out = c.output_as<int64_t>(0, DType::i64, {x.rank(), count});
  std::vector<int64_t> index(rank, 0);
  int64_t found = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (!element_is_zero(data[i])) {
      for (size_t d = 0; d < rank; ++d) out[static_cast<int64_t>(d) * count + found] = index[d];
      ++found;
    }
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < x.dims[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

void nonzero_builtin(BuiltinContext& c) {
  const BuiltinTensor& x = required_input(c, 0);
  with_element_type(x.dtype, [&](auto element) { find_nonzero<decltype(element)>(c, x); });
}

}  // namespace symtile
