// Constant tensors: shared, immutable bytes in row-major order, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "symtile/base/dtype.h"

namespace symtile {

struct ConstantData {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;  ///< product(dims) * size_of(dtype)

  int64_t element_count() const;
  friend bool operator==(const ConstantData&, const ConstantData&) = default;
  size_t hash() const;

  /// Element as double / int64 (any dtype; f16, bf16 widened; u64 above 2^63 wraps in as_int).
  double as_double(int64_t index) const;
  int64_t as_int(int64_t index) const;
  /// Writes one element, rounding or wrapping to the dtype.
  void set(int64_t index, double value);
  void set_int(int64_t index, int64_t value);
};

using Constant = std::shared_ptr<const ConstantData>;

Constant make_constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes);
Constant make_scalar(DType dtype, double value);
Constant make_i64_vector(const std::vector<int64_t>& values);

/// A tensor of zeros to be filled.
std::shared_ptr<ConstantData> make_zeros(DType dtype, std::vector<int64_t> dims);

}  // namespace symtile
