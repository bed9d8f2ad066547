// Checked 64-bit arithmetic for dimensions: overflow is a diagnostic, never a wrap.
//
// Private to shape/.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>

#include "symtile/diag/diagnostic.h"

namespace symtile {

__extension__ typedef __int128 Wide;

inline bool fits_int64(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) {
    fail(DiagId::dimension_overflow, {}, "{} + {} does not fit in 64 bits", a, b);
  }
  return out;
}

inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) {
    fail(DiagId::dimension_overflow, {}, "{} * {} does not fit in 64 bits", a, b);
  }
  return out;
}

/// Rounds towards minus infinity; `b` is not zero.
template <typename Int>
constexpr Int floor_div(Int a, Int b) {
  const Int q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

/// Has the sign of `b`; `b` is not zero.
template <typename Int>
constexpr Int floor_mod(Int a, Int b) {
  const Int r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

inline int64_t checked_floordiv(int64_t a, int64_t b) {
  if (b == 0) {
    fail(DiagId::dimension_overflow, {}, "{} // 0: division of a dimension by zero", a);
  }
  if (b == -1) return checked_mul(a, -1);
  return floor_div(a, b);
}

inline int64_t checked_floormod(int64_t a, int64_t b) {
  if (b == 0) {
    fail(DiagId::dimension_overflow, {}, "{} % 0: division of a dimension by zero", a);
  }
  if (b == -1) return 0;
  return floor_mod(a, b);
}

/// Non-negative; 0 only for two zeros.
inline int64_t gcd64(int64_t a, int64_t b) {
  Wide x = a < 0 ? -Wide{a} : Wide{a};
  Wide y = b < 0 ? -Wide{b} : Wide{b};
  while (y != 0) {
    const Wide t = x % y;
    x = y;
    y = t;
  }
  // Only gcd(min, 0) and gcd(min, min) do not fit; half of it is still a common divisor.
  return fits_int64(x) ? static_cast<int64_t>(x) : static_cast<int64_t>(x / 2);
}

}  // namespace symtile
