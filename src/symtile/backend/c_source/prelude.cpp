#include "symtile/backend/c_source/prelude.h"

#include <fmt/format.h>

namespace symtile::c_source {
namespace {

// T: the type, U: an unsigned type of at least its width in which arithmetic wraps.
constexpr const char* kIntegers = R"(
#define ST_INTEGER(T, U, BITS) \
  ST_FN T st_min_##T(T a, T b) { return b < a ? b : a; } \
  ST_FN T st_max_##T(T a, T b) { return a < b ? b : a; } \
  ST_FN T st_pow_wrap_##T(T a, T n) { \
    U result = 1, factor = (U)a; \
    for (u64 left = (u64)n; left != 0; left >>= 1) { \
      if (left & 1) result *= factor; \
      factor *= factor; \
    } \
    return (T)result; \
  }
#define ST_SIGNED(T, U, BITS) ST_INTEGER(T, U, BITS) \
  ST_FN T st_neg_##T(T a) { return (T)((U)0 - (U)a); } \
  ST_FN T st_abs_##T(T a) { return a < 0 ? (T)((U)0 - (U)a) : a; } \
  ST_FN T st_sign_##T(T a) { return (T)((a > 0) - (a < 0)); } \
  ST_FN T st_div_##T(T a, T b) { \
    return b == 0 ? (T)0 : b == -1 ? (T)((U)0 - (U)a) : (T)(a / b); \
  } \
  ST_FN T st_fmod_##T(T a, T b) { return b == 0 || b == -1 ? (T)0 : (T)(a % b); } \
  ST_FN T st_floordiv_##T(T a, T b) { \
    if (b == 0) return 0; \
    if (b == -1) return (T)((U)0 - (U)a); \
    return (T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0))); \
  } \
  ST_FN T st_floormod_##T(T a, T b) { \
    if (b == 0 || b == -1) return 0; \
    return (T)(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0)); \
  } \
  ST_FN T st_pow_##T(T a, T n) { \
    if (n < 0) return a == 1 ? (T)1 : a == -1 ? (T)(n % 2 == 0 ? 1 : -1) : (T)0; \
    return st_pow_wrap_##T(a, n); \
  } \
  ST_FN T st_shl_##T(T a, T b) { return b < 0 || b >= BITS ? (T)0 : (T)((U)a << b); } \
  ST_FN T st_shr_##T(T a, T b) { return (T)(a >> (b < 0 || b >= BITS ? BITS - 1 : b)); }
#define ST_UNSIGNED(T, U, BITS) ST_INTEGER(T, U, BITS) \
  ST_FN T st_neg_##T(T a) { return (T)((U)0 - (U)a); } \
  ST_FN T st_abs_##T(T a) { return a; } \
  ST_FN T st_sign_##T(T a) { return (T)(a != 0); } \
  ST_FN T st_div_##T(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); } \
  ST_FN T st_fmod_##T(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); } \
  ST_FN T st_floordiv_##T(T a, T b) { return st_div_##T(a, b); } \
  ST_FN T st_floormod_##T(T a, T b) { return st_fmod_##T(a, b); } \
  ST_FN T st_pow_##T(T a, T n) { return st_pow_wrap_##T(a, n); } \
  ST_FN T st_shl_##T(T a, T b) { return b >= BITS ? (T)0 : (T)((U)a << b); } \
  ST_FN T st_shr_##T(T a, T b) { return b >= BITS ? (T)0 : (T)(a >> b); }
)";

/// One line for each type whose helpers are called.
std::string integers_of(const std::string& kernels) {
  std::string out;
  for (const std::string bits : {"8", "16", "32", "64"}) {
    const std::string wide = bits == "64" ? "u64" : "u32";
    for (const std::string sign : {"i", "u"}) {
      const std::string type = sign + bits;
      if (kernels.find("_" + type + "(") == std::string::npos) continue;
      out +=
          fmt::format("ST_{}({}, {}, {})\n", sign == "i" ? "SIGNED" : "UNSIGNED", type, wide, bits);
    }
  }
  return out.empty() ? out : kIntegers + out;
}

// A cast to an integer compares with the bounds, which are exact in the float type or, for the
// upper ones, round up to a power of two.
constexpr const char* kCast = R"(
#define ST_TO_INTEGER(F, T, LOW, HIGH, LOW_F, HIGH_F) \
  ST_FN T st_##T##_of_##F(F x) { \
    return x != x ? (T)0 : x <= (F)(LOW_F) ? (T)(LOW) : x >= (F)(HIGH_F) ? (T)(HIGH) : (T)x; \
  }
)";

/// One line for each cast of a float to an integer.
std::string casts_of(const std::string& from, const std::string& kernels) {
  struct Bounds {
    const char *type, *low, *high, *low_float, *high_float;
  };
  constexpr Bounds kBounds[] = {
      {"i8", "-128", "127", "-128", "127"},
      {"i16", "-32768", "32767", "-32768", "32767"},
      {"i32", "-2147483647 - 1", "2147483647", "-2147483648.0f", "2147483648.0f"},
      {"i64", "-9223372036854775807L - 1", "9223372036854775807L", "-9223372036854775808.0f",
       "9223372036854775808.0f"},
      {"u8", "0", "255", "0", "255"},
      {"u16", "0", "65535", "0", "65535"},
      {"u32", "0", "4294967295u", "0", "4294967296.0f"},
      {"u64", "0", "18446744073709551615ul", "0", "18446744073709551616.0f"},
  };
  std::string out;
  for (const Bounds& to : kBounds) {
    if (kernels.find(fmt::format("st_{}_of_{}(", to.type, from)) == std::string::npos) continue;
    out += fmt::format("ST_TO_INTEGER({}, {}, {}, {}, {}, {})\n", from, to.type, to.low, to.high,
                       to.low_float, to.high_float);
  }
  return out;
}

struct FloatHelper {
  const char* name;
  const char* text;  ///< "real" stands for the type
};

constexpr FloatHelper kFloatHelpers[] = {
    {"st_min", "ST_FN real st_min_real(real a, real b) { return b < a || b != b ? b : a; }"},
    {"st_max", "ST_FN real st_max_real(real a, real b) { return a < b || b != b ? b : a; }"},
    {"st_sign",
     "ST_FN real st_sign_real(real x) { return x != x ? x : (real)((x > 0) - (x < 0)); }"},
    {"st_floormod", R"(ST_FN real st_floormod_real(real a, real b) {
  real r = fmod(a, b);
  if (r == 0) return copysign((real)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
})"},
    {"st_sigmoid", R"(ST_FN real st_sigmoid_real(real x) {
  if (x >= 0) return 1 / (1 + exp(-x));
  real e = exp(x);
  return e / (1 + e);
})"},
    // Where these round to 1 they are 1, which a library may miss by the error it is allowed.
    {"st_erf",
     "ST_FN real st_erf_real(real x) { return fabs(x) > 6 ? copysign((real)1, x) : erf(x); }"},
    {"st_tanh",
     "ST_FN real st_tanh_real(real x) { return fabs(x) > 20 ? copysign((real)1, x) : tanh(x); }"},
};

std::string floats_of(const std::string& type, const std::string& kernels) {
  std::string out;
  for (const FloatHelper& helper : kFloatHelpers) {
    if (kernels.find(fmt::format("{}_{}(", helper.name, type)) == std::string::npos) continue;
    std::string text = helper.text;
    for (size_t at; (at = text.find("real")) != std::string::npos;) text.replace(at, 4, type);
    out += text + "\n";
  }
  return out + casts_of(type, kernels);
}

// Rounding to 16 bits goes through the f32 "rounded to odd": an inexact f32 gets an odd last bit,
// so that the second rounding is the only one that counts.
constexpr const char* kOdd = R"(
ST_FN f32 st_odd_f32_of_u64(u64 x) {
  int shift = 0;
  while (x >> 24 != 0) {
    x = x >> 1 | (x & 1);
    ++shift;
  }
  return ldexp((f32)(u32)x, shift);
}
ST_FN f32 st_odd_f32_of_i64(i64 x) {
  return x < 0 ? -st_odd_f32_of_u64((u64)0 - (u64)x) : st_odd_f32_of_u64((u64)x);
}
)";

constexpr const char* kOddDoubles = R"(
ST_FN f32 st_odd_f32_of_f64(f64 x) {
  f32 f = (f32)x;
  if (x != x || (f64)f == x) return f;
  u32 bits = ST_BITS_F32(f);
  if ((bits & 0x7fffffffu) == 0x7f800000u) return ST_F32_BITS(bits - 1);
  if (bits & 1) return f;
  return ST_F32_BITS(fabs((f64)f) > fabs(x) ? bits - 1 : bits + 1);
}
)";

constexpr const char* kHalf = R"(
#ifdef ST_HALF
ST_FN f32 st_f32_of_f16(u16 h) { return ST_F32_OF_HALF(h); }
ST_FN u16 st_f16_of_f32(f32 f) { return ST_HALF_OF_F32(f); }
#else
ST_FN f32 st_f32_of_f16(u16 h) {
  u32 sign = (u32)(h & 0x8000u) << 16, exponent = (u32)(h >> 10) & 0x1fu, rest = h & 0x3ffu;
  if (exponent == 0x1fu) return ST_F32_BITS(sign | 0x7f800000u | rest << 13);
  if (exponent != 0) return ST_F32_BITS(sign | (exponent + 112) << 23 | rest << 13);
  return ST_F32_BITS(ST_BITS_F32((f32)rest * 5.9604644775390625e-8f) | sign);
}
ST_FN u16 st_f16_of_f32(f32 f) {
  u32 bits = ST_BITS_F32(f), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (u16)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (u16)(sign | 0x7c00u);
  if (size < 0x38800000u) return (u16)(sign | (ST_BITS_F32(ST_F32_BITS(size) + 0.5f) - 0x3f000000u));
  return (u16)(sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
}
#endif
ST_FN f32 st_round_f16(f32 f) { return st_f32_of_f16(st_f16_of_f32(f)); }
)";

constexpr const char* kBfloat = R"(
ST_FN f32 st_f32_of_bf16(u16 b) { return ST_F32_BITS((u32)b << 16); }
ST_FN u16 st_bf16_of_f32(f32 f) {
  u32 bits = ST_BITS_F32(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (u16)(bits >> 16 | 0x40u);
  return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
ST_FN f32 st_round_bf16(f32 f) { return st_f32_of_bf16(st_bf16_of_f32(f)); }
)";

}  // namespace

std::string prelude(const PreludeParts& parts, const std::string& kernels) {
  std::string out = integers_of(kernels) + kCast + floats_of("f32", kernels);
  if (parts.f16 || parts.bf16) out += kOdd;
  if (parts.f64) {
    out += "#ifdef ST_F64\n" + floats_of("f64", kernels);
    if (parts.f16 || parts.bf16) out += kOddDoubles;
    out += "#endif\n";
  }
  if (parts.f16) out += kHalf;
  if (parts.bf16) out += kBfloat;
  return out;
}

}  // namespace symtile::c_source
