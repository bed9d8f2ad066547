// Element types of tensors, the same on both sides of the compiler/runtime wall.
//
// `boolean` is stored as one byte, 0 or 1. Integers wrap (two's complement) at their width.
// `f16` and `bf16` are storage formats: arithmetic on them is done in f32 and rounded once,
// to nearest even, when the result is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace symtile {

enum class DType : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

inline constexpr int kNumDTypes = 13;

/// Size of one element in bytes.
constexpr int64_t size_of(DType t) {
  constexpr int64_t sizes[kNumDTypes] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return sizes[static_cast<int>(t)];
}

/// The name used in the text form: "f32", "bool", ...
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                                  "i64", "u8",  "u16", "u32",  "u64", "bool"};
  return names[static_cast<int>(t)];
}

constexpr std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

constexpr bool is_float(DType t) { return t <= DType::bf16; }
constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::u8 && t <= DType::u64; }
/// True for signed and unsigned integers, not for bool.
constexpr bool is_int(DType t) { return t >= DType::i8 && t <= DType::u64; }

}  // namespace symtile
