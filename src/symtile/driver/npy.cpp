#include "symtile/driver/npy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  /// The value after 'key': up to the matching end, white space trimmed.
  std::string_view value(std::string_view key) const {
    const size_t at = text_.find("'" + std::string(key) + "'");
    if (at == std::string_view::npos) bad("the header has no '{}'", key);
    size_t begin = text_.find(':', at);
    if (begin == std::string_view::npos) bad("the header is cut short after '{}'", key);
    ++begin;
    while (begin < text_.size() && std::isspace(static_cast<unsigned char>(text_[begin]))) ++begin;
    return text_.substr(begin);
  }

  template <typename... A>
  [[noreturn]] void bad(fmt::format_string<A...> format, A&&... args) const {
    fail(DiagId::bad_npy, {}, "'{}' is not a usable .npy file: {}", name_,
         fmt::format(format, std::forward<A>(args)...));
  }

 private:
  std::string_view text_;
  const std::string& name_;
};

DType parse_descr(const HeaderParser& header) {
  const std::string_view v = header.value("descr");
  if (v.size() < 2 || v[0] != '\'') header.bad("structured arrays are not supported");
  const std::string descr(v.substr(1, v.find('\'', 1) - 1));
  static const std::map<std::string, DType> known = {
      {"<f4", DType::f32}, {"<f8", DType::f64}, {"<f2", DType::f16}, {"|i1", DType::i8},
      {"<i2", DType::i16}, {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::u8},
      {"<u2", DType::u16}, {"<u4", DType::u32}, {"<u8", DType::u64}, {"|b1", DType::boolean}};
  const auto it = known.find(descr);
  if (it == known.end()) {
    header.bad("element type '{}' is not supported; save as a little-endian numeric or bool array",
               descr);
  }
  return it->second;
}

std::vector<int64_t> parse_shape(const HeaderParser& header) {
  std::string_view v = header.value("shape");
  if (v.empty() || v[0] != '(') header.bad("the shape is no tuple");
  v = v.substr(1, v.find(')') - 1);
  std::vector<int64_t> dims;
  std::stringstream in{std::string(v)};
  std::string part;
  while (std::getline(in, part, ',')) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const size_t end = std::max(begin, part.find_last_not_of(" L") + 1);
    int64_t extent = -1;
    const auto [rest, error] = std::from_chars(part.data() + begin, part.data() + end, extent);
    if (error != std::errc{} || rest != part.data() + end || extent < 0) {
      header.bad("bad extent '{}' in the shape", part);
    }
    dims.push_back(extent);
    if (dims.size() > 16) header.bad("more than 16 dimensions");
  }
  return dims;
}

Constant transposed(const ConstantData& fortran) {
  auto out = make_zeros(fortran.dtype, fortran.dims);
  const auto size = static_cast<size_t>(size_of(fortran.dtype));
  const int64_t count = fortran.element_count();
  std::vector<int64_t> index(fortran.dims.size(), 0);
  for (int64_t to = 0; to < count; ++to) {
    int64_t from = 0, stride = 1;
    for (size_t i = 0; i < index.size(); ++i) {
      from += index[i] * stride;
      stride *= fortran.dims[i];
    }
    std::memcpy(out->bytes.data() + static_cast<size_t>(to) * size,
                fortran.bytes.data() + static_cast<size_t>(from) * size, size);
    for (size_t i = index.size(); i-- > 0 && ++index[i] == fortran.dims[i];) index[i] = 0;
  }
  return out;
}

std::string_view descr_of(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"<f4", "<f8", "<f2", "<f4", "|i1", "<i2", "<i4",
                                                  "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"};
  return names[static_cast<size_t>(t)];
}

}  // namespace

Constant parse_npy(std::string_view bytes, const std::string& name) {
  const HeaderParser whole(bytes, name);
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    whole.bad("it does not start with the .npy magic");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const size_t major = byte(6);
  if (major < 1 || major > 3) whole.bad("format version {} is unknown", major);
  const size_t prefix = major == 1 ? 10 : 12;
  if (bytes.size() < prefix) whole.bad("the file is cut short");
  const size_t length = major == 1 ? byte(8) | byte(9) << 8
                                   : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - prefix) whole.bad("the header is cut short");
  const HeaderParser header(bytes.substr(prefix, length), name);
  ConstantData data;
  data.dtype = parse_descr(header);
  data.dims = parse_shape(header);
  const bool fortran = header.value("fortran_order").substr(0, 4) == "True";
  size_t count = static_cast<size_t>(size_of(data.dtype));
  for (const int64_t d : data.dims) {
    if (__builtin_mul_overflow(count, static_cast<size_t>(d), &count))
      header.bad("its size does not fit in 64 bits");
  }
  const std::string_view payload = bytes.substr(prefix + length);
  if (payload.size() != count)
    header.bad("the shape needs {} bytes of data, but there are {}", count, payload.size());
  data.bytes.resize(count);
  if (count > 0) std::memcpy(data.bytes.data(), payload.data(), count);
  if (data.dtype == DType::boolean) {
    for (std::byte& b : data.bytes) b = std::byte{b != std::byte{0}};
  }
  return fortran && data.dims.size() > 1
             ? transposed(data)
             : make_constant(data.dtype, data.dims, std::move(data.bytes));
}

Constant read_npy(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw EnvironmentError(
        fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  return parse_npy(text.str(), file.string());
}

void write_npy(const std::filesystem::path& file, const ConstantData& data) {
  std::string shape;
  for (const int64_t d : data.dims)
    shape += std::to_string(d) + (data.dims.size() == 1 ? "," : ", ");
  if (data.dims.size() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(data.dtype), shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream out(file, std::ios::binary);
  out << kMagic << '\x01' << '\x00' << static_cast<char>(header.size() & 0xff)
      << static_cast<char>(header.size() >> 8) << header;
  if (data.dtype == DType::bf16) {
    for (int64_t i = 0; i < data.element_count(); ++i) {
      const auto value = static_cast<float>(data.as_double(i));
      out.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  } else if (!data.bytes.empty()) {
    out.write(reinterpret_cast<const char*>(data.bytes.data()),
              static_cast<std::streamsize>(data.bytes.size()));
  }
  out.flush();
  if (!out)
    throw EnvironmentError(
        fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
}

}  // namespace symtile
