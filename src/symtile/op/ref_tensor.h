// Tensors of the reference evaluator: floats as double (whatever their dtype), the rest as int64.
//
// A float dtype keeps full double precision between operators; only `cast` rounds. u64 holds its
// bit pattern in an int64, bool holds 0 or 1. Data is row-major.
#pragma once

#include <cstdint>
#include <vector>

#include "symtile/ir/constant.h"

namespace symtile {

struct RefTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  std::vector<double> f;   ///< used when is_float(dtype)
  std::vector<int64_t> i;  ///< used otherwise

  RefTensor() = default;
  /// Zeros.
  RefTensor(DType type, std::vector<int64_t> extents);

  bool is_float_kind() const { return is_float(dtype); }
  int64_t size() const { return static_cast<int64_t>(is_float_kind() ? f.size() : i.size()); }
  int rank() const { return static_cast<int>(dims.size()); }
  double as_double(int64_t at) const {
    return is_float_kind() ? f[static_cast<size_t>(at)]
                           : static_cast<double>(i[static_cast<size_t>(at)]);
  }
  int64_t as_int(int64_t at) const;
  /// Copies element `from` of `source` (same kind of dtype).
  void copy_element(int64_t to, const RefTensor& source, int64_t from);
  /// Writes a number of either kind; ints wrap to the dtype.
  void set(int64_t at, double value);
  void set_int(int64_t at, int64_t value);

  /// Row-major strides in elements.
  std::vector<int64_t> strides() const;
  static RefTensor from_constant(const ConstantData& c);
  /// Rounds to the dtype.
  Constant to_constant() const;
};

/// Iterates over all index vectors of `dims` in row-major order (none when an extent is 0).
template <typename F>
void for_each_index(const std::vector<int64_t>& dims, F&& f) {
  for (int64_t d : dims) {
    if (d <= 0) return;
  }
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    f(static_cast<const std::vector<int64_t>&>(index));
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace symtile
