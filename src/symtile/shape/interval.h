// Intervals and residues of integers, the two abstract domains of the prover.
//
// Private to shape/. Bounds are 128 bits wide and give up ("unbounded") before they overflow, so
// every operation over-approximates and none wraps.
#pragma once

#include <optional>

#include "symtile/shape/checked.h"

namespace symtile {

struct Interval {
  std::optional<Wide> low;
  std::optional<Wide> high;

  static Interval exactly(Wide v) { return {v, v}; }
  bool is_nonnegative() const { return low && *low >= 0; }
  bool is_positive() const { return low && *low > 0; }
  bool is_nonzero() const { return is_positive() || (high && *high < 0); }
  bool is_empty() const { return low && high && *low > *high; }
};

Interval operator+(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval power(const Interval& a, int exponent);
Interval intersect(const Interval& a, const Interval& b);
/// Of x // y and x % y; unbounded when y may be zero, for then there is no value.
Interval floordiv_interval(const Interval& x, const Interval& y);
Interval floormod_interval(const Interval& x, const Interval& y);
Interval min_interval(const Interval& a, const Interval& b);
Interval max_interval(const Interval& a, const Interval& b);

/// value mod modulus; modulus 0 means exactly `value`, modulus 1 means nothing is known.
struct Residue {
  Wide modulus = 1;
  Wide value = 0;

  static Residue exactly(Wide v) { return {0, v}; }
  /// True if no member of the class is divisible by d.
  bool never_divisible_by(Wide d) const;
  bool always_divisible_by(Wide d) const;
};

Residue make_residue(Wide modulus, Wide value);
Residue operator+(const Residue& a, const Residue& b);
Residue operator*(const Residue& a, const Residue& b);
/// What holds for a value that is in `a` or in `b`.
Residue join(const Residue& a, const Residue& b);
/// Of x % c for positive constant c.
Residue floormod_residue(const Residue& x, Wide c);

}  // namespace symtile
