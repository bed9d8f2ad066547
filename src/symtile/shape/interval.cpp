#include "symtile/shape/interval.h"

#include <algorithm>
#include <array>

namespace symtile {
namespace {

// Sums of two values within the limit still fit.
constexpr Wide kLimit = Wide{1} << 120;

std::optional<Wide> keep(Wide v) {
  if (v > kLimit || v < -kLimit) return std::nullopt;
  return v;
}

std::optional<Wide> add(const std::optional<Wide>& a, const std::optional<Wide>& b) {
  if (!a || !b) return std::nullopt;
  return keep(*a + *b);
}

Wide wide_gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}

// An end of an interval on the line extended by both infinities.
struct End {
  int infinity;  // -1, 0, 1
  Wide value;
};

End times(const End& a, const End& b) {
  const auto sign = [](const End& e) {
    return e.infinity != 0 ? e.infinity : (e.value > 0 ? 1 : (e.value < 0 ? -1 : 0));
  };
  const int s = sign(a) * sign(b);
  if (s == 0) return {0, 0};
  if (a.infinity != 0 || b.infinity != 0) return {s, 0};
  Wide out = 0;
  if (__builtin_mul_overflow(a.value, b.value, &out)) return {s, 0};
  return {0, out};
}

bool less(const End& a, const End& b) {
  if (a.infinity != b.infinity) return a.infinity < b.infinity;
  return a.infinity == 0 && a.value < b.value;
}

End low_end(const Interval& a) { return a.low ? End{0, *a.low} : End{-1, 0}; }
End high_end(const Interval& a) { return a.high ? End{0, *a.high} : End{1, 0}; }

Interval from_ends(const End& low, const End& high) {
  Interval out;
  // An infinite end on the wrong side can only come from overflow: give that end up as well.
  if (low.infinity == 0) out.low = keep(low.value);
  if (high.infinity == 0) out.high = keep(high.value);
  return out;
}

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
  return {add(a.low, b.low), add(a.high, b.high)};
}

Interval operator*(const Interval& a, const Interval& b) {
  const std::array<End, 4> ends = {times(low_end(a), low_end(b)), times(low_end(a), high_end(b)),
                                   times(high_end(a), low_end(b)), times(high_end(a), high_end(b))};
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end(), less);
  return from_ends(*low, *high);
}

Interval power(const Interval& a, int exponent) {
  Interval out = Interval::exactly(1);
  for (int i = 0; i < exponent; ++i) out = out * a;
  if (exponent % 2 == 0 && !(out.low && *out.low >= 0)) out.low = 0;
  return out;
}

Interval intersect(const Interval& a, const Interval& b) {
  Interval out = a;
  if (b.low && (!out.low || *b.low > *out.low)) out.low = b.low;
  if (b.high && (!out.high || *b.high < *out.high)) out.high = b.high;
  return out;
}

Interval floordiv_interval(const Interval& x, const Interval& y) {
  if (!y.is_nonzero()) return {};
  if (!y.is_positive())
    return floordiv_interval(x * Interval::exactly(-1), y * Interval::exactly(-1));
  // y >= 1: the quotient is monotone in x; in y it moves towards 0 (or -1).
  Interval out;
  if (x.low) {
    if (*x.low >= 0) {
      out.low = y.high ? floor_div(*x.low, *y.high) : Wide{0};
    } else {
      out.low = floor_div(*x.low, *y.low);
    }
  }
  if (x.high) {
    if (*x.high >= 0) {
      out.high = floor_div(*x.high, *y.low);
    } else {
      out.high = y.high ? floor_div(*x.high, *y.high) : Wide{-1};
    }
  }
  return out;
}

Interval floormod_interval(const Interval& x, const Interval& y) {
  if (!y.is_nonzero()) return {};
  if (!y.is_positive()) {
    const Interval m = floormod_interval(x * Interval::exactly(-1), y * Interval::exactly(-1));
    return m * Interval::exactly(-1);
  }
  Interval out = {Wide{0}, std::nullopt};
  if (y.high) out.high = *y.high - 1;
  if (x.is_nonnegative()) {
    out = intersect(out, {std::nullopt, x.high});
    if (x.high && *x.high < *y.low) return x;
  }
  if (x.low && x.high && y.high && *y.low == *y.high) {
    const Wide c = *y.low;
    if (floor_div(*x.low, c) == floor_div(*x.high, c)) {
      return {floor_mod(*x.low, c), floor_mod(*x.high, c)};
    }
  }
  return out;
}

Interval min_interval(const Interval& a, const Interval& b) {
  Interval out;
  if (a.low && b.low) out.low = std::min(*a.low, *b.low);
  if (a.high && b.high) {
    out.high = std::min(*a.high, *b.high);
  } else {
    out.high = a.high ? a.high : b.high;
  }
  return out;
}

Interval max_interval(const Interval& a, const Interval& b) {
  Interval out;
  if (a.high && b.high) out.high = std::max(*a.high, *b.high);
  if (a.low && b.low) {
    out.low = std::max(*a.low, *b.low);
  } else {
    out.low = a.low ? a.low : b.low;
  }
  return out;
}

// ---------------------------------------------------------------------------- residues

namespace {

// Products of two moduli or values below this stay far from overflow.
constexpr Wide kResidueLimit = Wide{1} << 60;

}  // namespace

Residue make_residue(Wide modulus, Wide value) {
  if (modulus < 0) modulus = -modulus;
  if (modulus > kResidueLimit) return {};
  if (modulus == 0) {
    if (value > kResidueLimit || value < -kResidueLimit) return {};
    return {0, value};
  }
  return {modulus, floor_mod(value, modulus)};
}

bool Residue::always_divisible_by(Wide d) const { return modulus % d == 0 && value % d == 0; }

bool Residue::never_divisible_by(Wide d) const {
  const Wide g = wide_gcd(modulus, d);
  return g != 0 && value % g != 0;
}

Residue operator+(const Residue& a, const Residue& b) {
  return make_residue(wide_gcd(a.modulus, b.modulus), a.value + b.value);
}

Residue operator*(const Residue& a, const Residue& b) {
  // (v + k*m) * (w + l*p) = v*w modulo gcd(m*p, m*w, p*v)
  const Wide g =
      wide_gcd(wide_gcd(a.modulus * b.modulus, a.modulus * b.value), b.modulus * a.value);
  return make_residue(g, a.value * b.value);
}

Residue join(const Residue& a, const Residue& b) {
  const Wide g = wide_gcd(wide_gcd(a.modulus, b.modulus), a.value - b.value);
  return make_residue(g, a.value);
}

Residue floormod_residue(const Residue& x, Wide c) {
  if (x.modulus % c == 0) return Residue::exactly(floor_mod(x.value, c));
  return make_residue(wide_gcd(x.modulus, c), x.value);
}

}  // namespace symtile
