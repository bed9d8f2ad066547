// Bytes of records and back, derived from the field lists of program.h.
//
// Integers are LEB128 (signed ones zigzag), reals 8 bytes, text and lists a count and the elements,
// a variant its index and the value, a record its fields. The reader takes hostile bytes: every
// count, enumerator and length is checked against what is left before anything is allocated.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

#include "symtile/base/check.h"
#include "symtile/format/program.h"

namespace symtile::format {

static_assert(std::endian::native == std::endian::little, "artifacts are little-endian");

constexpr uint64_t enumerators(DType) { return kNumDTypes; }
constexpr uint64_t enumerators(FormulaCode) { return kNumFormulaCodes; }
constexpr uint64_t enumerators(DimRule::Kind) { return kNumDimRules; }
constexpr uint64_t enumerators(Relation) { return kNumRelations; }

namespace detail {
template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_variant = false;
template <typename... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <typename T>
inline constexpr bool is_pair = false;
template <typename A, typename B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <typename T>
inline constexpr bool is_index = false;
template <typename Tag>
inline constexpr bool is_index<Index<Tag>> = true;
}  // namespace detail

class RecordWriter {
 public:
  template <typename T>
  void write(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      write_unsigned(static_cast<uint64_t>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      const auto bits = std::bit_cast<uint64_t>(value);
      append(&bits, sizeof bits);
    } else if constexpr (std::is_unsigned_v<T>) {
      write_unsigned(value);
    } else if constexpr (std::is_integral_v<T>) {
      const auto wide = static_cast<int64_t>(value);
      write_unsigned(static_cast<uint64_t>(wide) << 1 ^ static_cast<uint64_t>(wide >> 63));
    } else if constexpr (std::is_same_v<T, std::string>) {
      write_unsigned(value.size());
      append(value.data(), value.size());
    } else if constexpr (detail::is_index<T>) {
      write_unsigned(value.valid() ? uint64_t{value.value} + 1 : 0);
    } else if constexpr (detail::is_vector<T>) {
      write_unsigned(value.size());
      for (const auto& element : value) write(element);
    } else if constexpr (detail::is_variant<T>) {
      write_unsigned(value.index());
      std::visit([&](const auto& alternative) { write(alternative); }, value);
    } else if constexpr (detail::is_pair<T>) {
      write(value.first);
      write(value.second);
    } else {
      T::fields(value, [&](const char*, const auto& field) { write(field); });
    }
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void write_unsigned(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::byte>(value | 0x80));
    bytes_.push_back(static_cast<std::byte>(value));
  }
  void append(const void* data, size_t size) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }

  std::vector<std::byte> bytes_;
};

class RecordReader {
 public:
  /// No list of a sound artifact is longer.
  static constexpr uint64_t kMaxCount = uint64_t{1} << 24;

  explicit RecordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  void read(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = read_below(2) != 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(read_below(enumerators(T{})));
    } else if constexpr (std::is_same_v<T, double>) {
      uint64_t bits;
      std::memcpy(&bits, take(sizeof bits).data(), sizeof bits);
      value = std::bit_cast<double>(bits);
    } else if constexpr (std::is_unsigned_v<T>) {
      const uint64_t wide = read_unsigned();
      value = static_cast<T>(wide);
      require(value == wide, "a number is out of range");
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t wide = read_unsigned();
      value = static_cast<T>(wide >> 1 ^ (~(wide & 1) + 1));
    } else if constexpr (std::is_same_v<T, std::string>) {
      const auto text = take(read_unsigned());
      value.assign(reinterpret_cast<const char*>(text.data()), text.size());
    } else if constexpr (detail::is_index<T>) {
      const uint64_t wide = read_unsigned();
      require(wide < kNoIndex, "an index is out of range");
      value.value = wide == 0 ? kNoIndex : static_cast<uint32_t>(wide - 1);
    } else if constexpr (detail::is_vector<T>) {
      const uint64_t count = read_unsigned();
      require(count <= bytes_.size() && count <= kMaxCount, "a list is longer than the file");
      value.clear();  // grown as elements are found: a lying count allocates nothing
      for (uint64_t i = 0; i < count; ++i) read(value.emplace_back());
    } else if constexpr (detail::is_variant<T>) {
      read_variant(value, std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (detail::is_pair<T>) {
      read(value.first);
      read(value.second);
    } else {
      T::fields(value, [&](const char*, auto& field) { read(field); });
    }
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  static void require(bool ok, const char* what) {
    if (!ok) throw UserError(what);
  }
  std::span<const std::byte> take(uint64_t size) {
    require(size <= bytes_.size(), "a record ends early");
    const auto out = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return out;
  }
  uint64_t read_unsigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(take(1).front());
      require(shift < 63 || byte <= 1, "a number is too long");
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw UserError("a number is too long");
  }
  uint64_t read_below(uint64_t limit) {
    const uint64_t value = read_unsigned();
    require(value < limit, "an enumerator is unknown");
    return value;
  }
  template <typename T, size_t... I>
  void read_variant(T& value, std::index_sequence<I...>) {
    const uint64_t index = read_below(sizeof...(I));
    (void)((index == I && (read(value.template emplace<I>()), true)) || ...);
  }

  std::span<const std::byte> bytes_;
};

}  // namespace symtile::format
