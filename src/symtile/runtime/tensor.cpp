#include "symtile/runtime/tensor.h"

#include <algorithm>
#include <cstring>

#include "symtile/base/check.h"
#include "symtile/format/validate.h"

namespace symtile {
namespace {

template <typename T>
int64_t load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof value), sizeof value);
  return static_cast<int64_t>(value);
}

}  // namespace

void Tensor::set_shape(DType type, std::span<const int64_t> dims) {
  SYMTILE_CHECK(dims.size() <= format::kMaxRank);
  dtype = type;
  rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), extents.begin());
  bytes = format::byte_size(type, dims);
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.dims(), ", "));
}

int64_t read_int(const Tensor& tensor, int64_t index) {
  SYMTILE_CHECK(index >= 0 && index < tensor.elements());
  switch (tensor.dtype) {
    case DType::i8:
      return load<int8_t>(tensor.data, index);
    case DType::i16:
      return load<int16_t>(tensor.data, index);
    case DType::i32:
      return load<int32_t>(tensor.data, index);
    case DType::i64:
    case DType::u64:
      return load<int64_t>(tensor.data, index);
    case DType::u8:
    case DType::boolean:
      return load<uint8_t>(tensor.data, index);
    case DType::u16:
      return load<uint16_t>(tensor.data, index);
    case DType::u32:
      return load<uint32_t>(tensor.data, index);
    default:
      throw UserError(
          fmt::format("error[bad_input]: {} is not an integer tensor", describe(tensor)));
  }
}

}  // namespace symtile
