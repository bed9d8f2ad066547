#include "symtile/ir/text_format.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace symtile {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_word(std::string_view name) {
  for (char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '.') return false;
  }
  return !name.empty();
}

bool is_identifier(std::string_view name) {
  return is_word(name) && is_letter(name.front()) && name != "true" && name != "false";
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string value_name(std::string_view name) {
  return "%" + (is_word(name) ? std::string(name) : quote(name));
}

std::string function_name(std::string_view name) {
  return "@" + (is_word(name) ? std::string(name) : quote(name));
}

std::string plain_name(std::string_view name) {
  return is_identifier(name) ? std::string(name) : quote(name);
}

std::string float_text(DType dtype, double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<uint64_t>(value);
    return bits == 0x7ff8000000000000u ? "nan" : fmt::format("nan(0x{:016x})", bits);
  }
  std::string text =
      dtype == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string int_text(DType dtype, int64_t value) {
  if (dtype == DType::u64) return fmt::format("{}", static_cast<uint64_t>(value));
  return fmt::format("{}", value);
}

std::string dims_text(const Dims& dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
  return out + ")";
}

}  // namespace symtile
