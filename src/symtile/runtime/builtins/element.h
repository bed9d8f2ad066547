// Ordering and dispatch over element types for the builtins.
#pragma once

#include <cmath>
#include <type_traits>

#include "symtile/base/half.h"
#include "symtile/runtime/builtins/builtin.h"

namespace symtile {

/// Storage of f16 and bf16, compared as the floats they stand for.
struct HalfElement {
  uint16_t bits;
};
struct BFloatElement {
  uint16_t bits;
};

/// The value that decides order and equality.
template <typename T>
T order_key(T x) {
  return x;
}
inline float order_key(HalfElement x) { return half_to_float(x.bits); }
inline float order_key(BFloatElement x) { return bfloat_to_float(x.bits); }

/// Total preorder of elements: NaNs are equal to each other and above every number.
template <typename T>
bool element_less(T a, T b) {
  const auto x = order_key(a), y = order_key(b);
  if constexpr (std::is_floating_point_v<decltype(x)>) {
    if (x != x) return false;
    return y != y || x < y;
  } else {
    return x < y;
  }
}

template <typename T>
bool element_is_zero(T a) {
  return order_key(a) == 0;
}

/// Calls f(T{}) with the storage type of the dtype.
template <typename F>
void with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(HalfElement{});
    case DType::bf16:
      return f(BFloatElement{});
    case DType::i8:
      return f(int8_t{});
    case DType::i16:
      return f(int16_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i64:
      return f(int64_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::u16:
      return f(uint16_t{});
    case DType::u32:
      return f(uint32_t{});
    case DType::u64:
      return f(uint64_t{});
    case DType::boolean:
      return f(uint8_t{});
  }
}

/// A tensor seen along one axis: element (outer, i, inner) is at (outer * extent + i) * inner_size
/// + inner.
struct AxisView {
  int64_t outer_size = 1, extent = 1, inner_size = 1;

  AxisView(const std::vector<int64_t>& dims, size_t axis) {
    for (size_t d = 0; d < axis; ++d) outer_size *= dims[d];
    extent = dims[axis];
    for (size_t d = axis + 1; d < dims.size(); ++d) inner_size *= dims[d];
  }
};

/// The axis attribute as a position from the front; the call fails when there is no such axis.
inline size_t builtin_axis(const BuiltinContext& c, const BuiltinTensor& x, int64_t fallback) {
  const int64_t given = c.attr_int("axis", fallback);
  const int64_t axis = given < 0 ? given + x.rank() : given;
  if (axis < 0 || axis >= x.rank()) {
    c.fail("axis " + std::to_string(given) + " of a tensor of rank " + std::to_string(x.rank()));
  }
  return static_cast<size_t>(axis);
}

/// The argument; the call fails when it is absent.
inline const BuiltinTensor& required_input(const BuiltinContext& c, int i) {
  const BuiltinTensor* x = c.input(i);
  if (x == nullptr) c.fail("argument " + std::to_string(i) + " is missing");
  return *x;
}

}  // namespace symtile
