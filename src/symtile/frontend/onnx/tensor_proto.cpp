#include "symtile/frontend/onnx/tensor_proto.h"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "symtile/frontend/onnx/external_data.h"
#include "symtile/frontend/onnx/load_model.h"
#include "symtile/frontend/onnx/onnx.h"

namespace symtile::onnx_import {
namespace {

constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 40;
constexpr int kMaxRank = 64;
// Models may share external bytes (tied weights), but not without limit.
constexpr uint64_t kExternalReuse = 4;

constexpr std::array<const char*, 27> kTypeNames = {
    "undefined",      "float",    "uint8",        "int8",           "uint16",
    "int16",          "int32",    "int64",        "string",         "bool",
    "float16",        "double",   "uint32",       "uint64",         "complex64",
    "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
    "uint2",          "int2"};

std::string label(const pb::TensorProto& t) {
  return t.name().empty() ? "tensor" : fmt::format("tensor '{}'", printable(t.name()));
}

struct Extent {
  uint64_t count, bytes;
};

Extent extent_of(const pb::TensorProto& t, DType dtype, const Location& where) {
  if (t.dims_size() > kMaxRank) {
    fail(DiagId::too_large, where, "{} has rank {}; at most {} is supported", label(t),
         t.dims_size(), kMaxRank);
  }
  // Zero extents make the tensor empty, but the others must still be sensible.
  uint64_t count = 1;
  bool empty = false;
  for (const int64_t d : t.dims()) {
    if (d < 0) fail(DiagId::bad_model_file, where, "{} has the negative dimension {}", label(t), d);
    empty = empty || d == 0;
    if (d == 0) continue;
    if (count > kMaxTensorBytes / static_cast<uint64_t>(d)) {
      fail(DiagId::too_large, where, "{} has dimensions [{}], whose product is too large", label(t),
           fmt::join(t.dims(), ", "));
    }
    count *= static_cast<uint64_t>(d);
  }
  if (empty) count = 0;
  const uint64_t size = static_cast<uint64_t>(size_of(dtype));
  if (count > kMaxTensorBytes / size) {
    fail(DiagId::too_large, where, "{} has {} elements of {} bytes, which is too large", label(t),
         count, size);
  }
  return {count, count * size};
}

/// Copies a typed field, narrowing each element to T after a range check.
template <typename T, typename Field>
void copy_field(const Field& field, std::vector<std::byte>& out, const pb::TensorProto& t,
                const Location& where) {
  size_t at = 0;
  for (const auto value : field) {
    using Source = std::decay_t<decltype(value)>;
    T narrow;
    if constexpr (std::is_integral_v<Source>) {
      if (!std::in_range<T>(value)) {
        fail(DiagId::bad_model_file, where, "{} has the element {}, which does not fit its type {}",
             label(t), value, onnx_type_name(t.data_type()));
      }
    }
    narrow = static_cast<T>(value);
    std::memcpy(out.data() + at, &narrow, sizeof narrow);
    at += sizeof narrow;
  }
}

/// Number of elements in the typed field that the data type uses.
int typed_count(const pb::TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return t.float_data_size();
    case DType::f64:
      return t.double_data_size();
    case DType::i64:
      return t.int64_data_size();
    case DType::u32:
    case DType::u64:
      return t.uint64_data_size();
    default:
      return t.int32_data_size();
  }
}

std::vector<std::byte> typed_payload(const pb::TensorProto& t, DType dtype, const Extent& extent,
                                     const Location& where) {
  std::vector<std::byte> out(extent.bytes);
  switch (dtype) {
    case DType::f32:
      copy_field<float>(t.float_data(), out, t, where);
      break;
    case DType::f64:
      copy_field<double>(t.double_data(), out, t, where);
      break;
    case DType::i64:
      copy_field<int64_t>(t.int64_data(), out, t, where);
      break;
    case DType::u32:
      copy_field<uint32_t>(t.uint64_data(), out, t, where);
      break;
    case DType::u64:
      copy_field<uint64_t>(t.uint64_data(), out, t, where);
      break;
    case DType::i32:
      copy_field<int32_t>(t.int32_data(), out, t, where);
      break;
    case DType::i16:
      copy_field<int16_t>(t.int32_data(), out, t, where);
      break;
    case DType::i8:
      copy_field<int8_t>(t.int32_data(), out, t, where);
      break;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      copy_field<uint16_t>(t.int32_data(), out, t, where);
      break;
    case DType::u8:
    case DType::boolean:
      copy_field<uint8_t>(t.int32_data(), out, t, where);
      break;
  }
  return out;
}

uint64_t parse_number(const std::string& key, const std::string& text, const Location& where) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail(DiagId::external_data, where, "the {} '{}' of the external data is not a valid number",
         key, printable(text));
  }
  return value;
}

}  // namespace

std::optional<DType> dtype_of(int onnx_type) {
  switch (onnx_type) {
    case 1:
      return DType::f32;
    case 2:
      return DType::u8;
    case 3:
      return DType::i8;
    case 4:
      return DType::u16;
    case 5:
      return DType::i16;
    case 6:
      return DType::i32;
    case 7:
      return DType::i64;
    case 9:
      return DType::boolean;
    case 10:
      return DType::f16;
    case 11:
      return DType::f64;
    case 12:
      return DType::u32;
    case 13:
      return DType::u64;
    case 16:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

std::string onnx_type_name(int onnx_type) {
  if (onnx_type < 0 || static_cast<size_t>(onnx_type) >= kTypeNames.size()) {
    return fmt::format("number {}", onnx_type);
  }
  return kTypeNames[static_cast<size_t>(onnx_type)];
}

std::vector<std::byte> TensorReader::read_external(const pb::TensorProto& t, uint64_t size,
                                                   const Location& where) {
  std::map<std::string, std::string> keys;
  for (const pb::StringStringEntryProto& e : t.external_data()) {
    if (!keys.emplace(e.key(), e.value()).second) {
      fail(DiagId::external_data, where, "{} gives the external data's {} twice", label(t),
           printable(e.key()));
    }
  }
  if (!keys.count("location")) {
    fail(DiagId::external_data, where, "{} has external data without a location", label(t));
  }
  const uint64_t offset = keys.count("offset") ? parse_number("offset", keys["offset"], where) : 0;
  const uint64_t length =
      keys.count("length") ? parse_number("length", keys["length"], where) : size;
  if (length != size) {
    fail(DiagId::external_data, where, "{} needs {} bytes, but its external data has the length {}",
         label(t), size, length);
  }
  const ExternalFile file(folder_, keys["location"], where);
  file_sizes_[{file.device(), file.inode()}] = file.size();
  uint64_t budget = 0;
  for (const auto& entry : file_sizes_) budget += entry.second;
  if (external_bytes_ + size > budget * kExternalReuse) {
    fail(DiagId::too_large, where,
         "the model's tensors read the same external bytes more than {} times over",
         kExternalReuse);
  }
  external_bytes_ += size;
  return file.read(offset, size, where);
}

Constant TensorReader::read(const pb::TensorProto& t, const Location& location) {
  const Location where = location ? location : make_location(file_name_, "", "");
  const std::optional<DType> dtype = dtype_of(t.data_type());
  if (!dtype) {
    if (t.data_type() == pb::TensorProto::UNDEFINED || t.data_type() < 0) {
      fail(DiagId::bad_model_file, where, "{} has no element type", label(t));
    }
    fail(DiagId::unsupported, where, "{} has the element type {}, which is not supported", label(t),
         onnx_type_name(t.data_type()));
  }
  if (t.has_segment()) {
    fail(DiagId::unsupported, where, "{} is stored in segments, which is not supported", label(t));
  }
  const Extent extent = extent_of(t, *dtype, where);
  std::vector<std::byte> bytes;
  const int typed = typed_count(t, *dtype);
  if (t.data_location() == pb::TensorProto::EXTERNAL) {
    bytes = read_external(t, extent.bytes, where);
  } else if (!t.raw_data().empty()) {
    if (typed > 0) fail(DiagId::bad_model_file, where, "{} has its data twice", label(t));
    if (t.raw_data().size() != extent.bytes) {
      fail(DiagId::bad_model_file, where,
           "{} of dimensions [{}] and type {} needs {} bytes, but {} are given", label(t),
           fmt::join(t.dims(), ", "), onnx_type_name(t.data_type()), extent.bytes,
           t.raw_data().size());
    }
    bytes.resize(extent.bytes);
    std::memcpy(bytes.data(), t.raw_data().data(), bytes.size());
  } else {
    if (static_cast<uint64_t>(typed) != extent.count) {
      fail(DiagId::bad_model_file, where,
           "{} of dimensions [{}] needs {} elements, but {} are given", label(t),
           fmt::join(t.dims(), ", "), extent.count, typed);
    }
    bytes = typed_payload(t, *dtype, extent, where);
  }
  if (*dtype == DType::boolean) {
    for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{1};
  }
  return make_constant(*dtype, {t.dims().begin(), t.dims().end()}, std::move(bytes));
}

}  // namespace symtile::onnx_import

namespace symtile {

Constant parse_onnx_tensor(std::string_view bytes, const std::string& file_name) {
  onnx_import::pb::TensorProto tensor;
  onnx_import::parse_message(bytes, file_name, "an ONNX tensor", tensor);
  if (tensor.data_location() == onnx_import::pb::TensorProto::EXTERNAL) {
    fail(DiagId::external_data, make_location(file_name, "", ""),
         "a tensor that stands alone cannot have external data");
  }
  return onnx_import::TensorReader(file_name, {}).read(tensor, nullptr);
}

}  // namespace symtile
