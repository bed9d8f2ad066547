#include "symtile/ir/constant.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "symtile/base/check.h"
#include "symtile/base/half.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile {
namespace {

template <typename T>
T read(const std::vector<std::byte>& bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void write(std::vector<std::byte>& bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

void check_index(const ConstantData& c, int64_t index) {
  SYMTILE_CHECK(index >= 0 && static_cast<size_t>((index + 1) * size_of(c.dtype)) <= c.bytes.size(),
                "element {} of a constant of {} bytes", index, c.bytes.size());
}

}  // namespace

int64_t ConstantData::element_count() const {
  int64_t n = 1;
  for (int64_t d : dims) {
    SYMTILE_CHECK(d >= 0 && !__builtin_mul_overflow(n, d, &n), "constant extents overflow");
  }
  return n;
}

size_t ConstantData::hash() const {
  size_t h =
      std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  h = h * 31 + static_cast<size_t>(dtype);
  for (int64_t d : dims) h = h * 31 + std::hash<int64_t>{}(d);
  return h;
}

double ConstantData::as_double(int64_t index) const {
  check_index(*this, index);
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(read<float>(bytes, index));
    case DType::f64:
      return read<double>(bytes, index);
    case DType::f16:
      return static_cast<double>(half_to_float(read<uint16_t>(bytes, index)));
    case DType::bf16:
      return static_cast<double>(bfloat_to_float(read<uint16_t>(bytes, index)));
    case DType::u64:
      return static_cast<double>(read<uint64_t>(bytes, index));
    default:
      return static_cast<double>(as_int(index));
  }
}

int64_t ConstantData::as_int(int64_t index) const {
  check_index(*this, index);
  switch (dtype) {
    case DType::i8:
      return read<int8_t>(bytes, index);
    case DType::i16:
      return read<int16_t>(bytes, index);
    case DType::i32:
      return read<int32_t>(bytes, index);
    case DType::i64:
      return read<int64_t>(bytes, index);
    case DType::u8:
      return read<uint8_t>(bytes, index);
    case DType::u16:
      return read<uint16_t>(bytes, index);
    case DType::u32:
      return read<uint32_t>(bytes, index);
    case DType::u64:
      return static_cast<int64_t>(read<uint64_t>(bytes, index));
    case DType::boolean:
      return read<uint8_t>(bytes, index) != 0;
    default:
      return cast_float_to_int(DType::i64, as_double(index));
  }
}

void ConstantData::set(int64_t index, double value) {
  check_index(*this, index);
  switch (dtype) {
    case DType::f32:
      return write(bytes, index, static_cast<float>(value));
    case DType::f64:
      return write(bytes, index, value);
    // round_to first: going through f32 alone would round twice.
    case DType::f16:
      return write(bytes, index, float_to_half(static_cast<float>(round_to(dtype, value))));
    case DType::bf16:
      return write(bytes, index, float_to_bfloat(static_cast<float>(round_to(dtype, value))));
    default:
      set_int(index, cast_float_to_int(dtype, value));
  }
}

void ConstantData::set_int(int64_t index, int64_t value) {
  check_index(*this, index);
  switch (dtype) {
    case DType::i8:
    case DType::u8:
      return write(bytes, index, static_cast<uint8_t>(value));
    case DType::i16:
    case DType::u16:
      return write(bytes, index, static_cast<uint16_t>(value));
    case DType::i32:
    case DType::u32:
      return write(bytes, index, static_cast<uint32_t>(value));
    case DType::i64:
    case DType::u64:
      return write(bytes, index, value);
    case DType::boolean:
      return write(bytes, index, static_cast<uint8_t>(value != 0));
    default:
      set(index, cast_int_to_float(DType::i64, dtype, value));
  }
}

Constant make_constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  ConstantData c{dtype, std::move(dims), std::move(bytes)};
  SYMTILE_CHECK(static_cast<size_t>(c.element_count()) * static_cast<size_t>(size_of(dtype)) ==
                    c.bytes.size(),
                "a constant of {} elements of {} has {} bytes", c.element_count(), name_of(dtype),
                c.bytes.size());
  return std::make_shared<const ConstantData>(std::move(c));
}

Constant make_scalar(DType dtype, double value) {
  auto c = make_zeros(dtype, {});
  c->set(0, value);
  return c;
}

Constant make_i64_vector(const std::vector<int64_t>& values) {
  auto c = make_zeros(DType::i64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) c->set_int(static_cast<int64_t>(i), values[i]);
  return c;
}

std::shared_ptr<ConstantData> make_zeros(DType dtype, std::vector<int64_t> dims) {
  auto c = std::make_shared<ConstantData>(ConstantData{dtype, std::move(dims), {}});
  int64_t bytes = 0;
  SYMTILE_CHECK(!__builtin_mul_overflow(c->element_count(), size_of(dtype), &bytes),
                "constant size overflows");
  c->bytes.resize(static_cast<size_t>(bytes));
  return c;
}

}  // namespace symtile
