// checked_indices: a copy of integers that must lie in [-extent, extent): all against one extent,
// or each column of the last dimension against its own.
#include <cstring>

#include "symtile/runtime/builtins/element.h"

namespace symtile {

namespace {

template <typename T>
void check_indices(BuiltinContext& c, const BuiltinTensor& x, const std::vector<int64_t>& extents) {
  const T* data = x.as<T>();
  const int64_t size = x.size();
  // Unsigned elements above the largest extent stay above it as int64_t, or become negative beyond
  // any: both are out of range.
  for (int64_t i = 0; i < size; ++i) {
    const auto index = static_cast<int64_t>(data[i]);
    const int64_t extent = extents[static_cast<size_t>(i) % extents.size()];
    if (index < -extent || index >= extent) {
      c.fail("index " + std::to_string(data[i]) + " (element " + std::to_string(i) +
             ") is out of range for a dimension of " + std::to_string(extent) +
             ": indices lie in [-" + std::to_string(extent) + ", " + std::to_string(extent) + ")");
    }
  }
  auto* out = c.output(0, x.dtype, x.dims);
  if (size > 0) std::memcpy(out, x.data, static_cast<size_t>(size) * sizeof(T));
}

}  // namespace

void checked_indices_builtin(BuiltinContext& c) {
  const BuiltinTensor& x = required_input(c, 0);
  const std::vector<int64_t> extents = c.attr_ints("extents", {});
  if (extents.empty()) c.fail("it has no extents");
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) {
      check_indices<T>(c, x, extents);
    } else {
      c.fail("indices must be integers");
    }
  });
}

}  // namespace symtile
