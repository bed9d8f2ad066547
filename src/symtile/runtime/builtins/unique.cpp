// unique: distinct elements, or distinct slices along an axis, with the first position of each, the
// place of every element in the result and the counts.
#include <algorithm>
#include <numeric>

#include "symtile/runtime/builtins/element.h"

namespace symtile {

namespace {

template <typename T>
class Slices {
 public:
  Slices(const T* data, AxisView view) : data_(data), view_(view) {}

  const T* run(int64_t outer, int64_t slice) const {
    return data_ + (outer * view_.extent + slice) * view_.inner_size;
  }
  /// Negative, zero or positive, as a is before, equal to or after b element by element.
  int compare(int64_t a, int64_t b) const {
    for (int64_t outer = 0; outer < view_.outer_size; ++outer) {
      const T *x = run(outer, a), *y = run(outer, b);
      for (int64_t i = 0; i < view_.inner_size; ++i) {
        if (element_less(x[i], y[i])) return -1;
        if (element_less(y[i], x[i])) return 1;
      }
    }
    return 0;
  }

 private:
  const T* data_;
  AxisView view_;
};

template <typename T>
void find_unique(BuiltinContext& c, const BuiltinTensor& x, const AxisView& view,
                 std::vector<int64_t> dims, size_t axis) {
  const Slices<T> slices(x.as<T>(), view);
  const int64_t count = view.extent;
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int sign = slices.compare(a, b);
    return sign != 0 ? sign < 0 : a < b;
  });
  // Runs of equal slices; the first of a run is the first occurrence.
  struct Group {
    int64_t first, begin, end;
  };
  std::vector<Group> groups;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slice = order[static_cast<size_t>(i)];
    if (groups.empty() || slices.compare(groups.back().first, slice) != 0)
      groups.push_back({slice, i, i});
    groups.back().end = i + 1;
  }
  if (c.attr_int("sorted", 1) == 0) {
    std::sort(groups.begin(), groups.end(),
              [](const Group& a, const Group& b) { return a.first < b.first; });
  }

  const auto found = static_cast<int64_t>(groups.size());
  dims[axis] = found;
  T* values = c.output_as<T>(0, x.dtype, dims);
  auto* first = c.output_as<int64_t>(1, DType::i64, {found});
  auto* inverse = c.output_as<int64_t>(2, DType::i64, {count});
  auto* counts = c.output_as<int64_t>(3, DType::i64, {found});
  for (int64_t g = 0; g < found; ++g) {
    const Group& group = groups[static_cast<size_t>(g)];
    first[g] = group.first;
    counts[g] = group.end - group.begin;
    for (int64_t i = group.begin; i < group.end; ++i) inverse[order[static_cast<size_t>(i)]] = g;
    for (int64_t outer = 0; outer < view.outer_size; ++outer) {
      std::copy_n(slices.run(outer, group.first), view.inner_size,
                  values + (outer * found + g) * view.inner_size);
    }
  }
}

}  // namespace

void unique_builtin(BuiltinContext& c) {
  const BuiltinTensor& x = required_input(c, 0);
  const bool flat = !c.has_attr("axis");
  const size_t axis = flat ? 0 : builtin_axis(c, x, 0);
  const std::vector<int64_t> dims = flat ? std::vector<int64_t>{x.size()} : x.dims;
  const AxisView view(dims, axis);
  with_element_type(x.dtype,
                    [&](auto element) { find_unique<decltype(element)>(c, x, view, dims, axis); });
}

}  // namespace symtile
