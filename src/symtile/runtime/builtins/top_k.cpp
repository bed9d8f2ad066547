// top_k: the k best elements along an axis, best first, equal ones by position. The candidates are
// selected in linear time and only they are sorted.
#include <algorithm>

#include "symtile/runtime/builtins/element.h"

namespace symtile {

namespace {

template <typename T>
void select_best(BuiltinContext& c, const BuiltinTensor& x, size_t axis, int64_t k) {
  const AxisView view(x.dims, axis);
  std::vector<int64_t> dims = x.dims;
  dims[axis] = k;
  const bool largest = c.attr_int("largest", 1) != 0;
  T* values = c.output_as<T>(0, x.dtype, dims);
  auto* positions = c.output_as<int64_t>(1, DType::i64, dims);
  if (k == 0) return;

  struct Entry {
    T value;
    int64_t at;
  };
  // A total order, so the result does not depend on the algorithm.
  const auto better = [largest](const Entry& a, const Entry& b) {
    if (largest ? element_less(b.value, a.value) : element_less(a.value, b.value)) return true;
    if (largest ? element_less(a.value, b.value) : element_less(b.value, a.value)) return false;
    return a.at < b.at;
  };
  std::vector<Entry> line(static_cast<size_t>(view.extent));
  const auto middle = line.begin() + static_cast<std::ptrdiff_t>(k);
  for (int64_t outer = 0; outer < view.outer_size; ++outer) {
    for (int64_t inner = 0; inner < view.inner_size; ++inner) {
      const T* from = x.as<T>() + outer * view.extent * view.inner_size + inner;
      for (int64_t i = 0; i < view.extent; ++i)
        line[static_cast<size_t>(i)] = {from[i * view.inner_size], i};
      if (k * 8 < view.extent) {
        // Few of many: a heap of k keeps most elements to one comparison.
        std::partial_sort(line.begin(), middle, line.end(), better);
      } else {
        if (middle != line.end()) std::nth_element(line.begin(), middle, line.end(), better);
        std::sort(line.begin(), middle, better);
      }
      const int64_t to = outer * k * view.inner_size + inner;
      for (int64_t i = 0; i < k; ++i) {
        values[to + i * view.inner_size] = line[static_cast<size_t>(i)].value;
        positions[to + i * view.inner_size] = line[static_cast<size_t>(i)].at;
      }
    }
  }
}

}  // namespace

void top_k_builtin(BuiltinContext& c) {
  const BuiltinTensor& x = required_input(c, 0);
  const size_t axis = builtin_axis(c, x, -1);
  const std::vector<int64_t> given = c.attr_ints("k", {});
  if (given.size() != 1 || given[0] < 0 || given[0] > x.dims[axis]) {
    c.fail("k = " + (given.size() == 1 ? std::to_string(given[0]) : std::string("?")) + " of " +
           std::to_string(x.dims[axis]) + " elements");
  }
  with_element_type(x.dtype,
                    [&](auto element) { select_best<decltype(element)>(c, x, axis, given[0]); });
}

}  // namespace symtile
