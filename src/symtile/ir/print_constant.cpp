// Prints constants and attributes. A constant is a list when that is short and exact, else the
// hexadecimal bytes in memory order.
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "symtile/ir/print_graph.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace {

constexpr int64_t kLongestList = 16;

/// A list prints every value except NaNs with a payload and bools that are not 0 or 1.
bool list_is_exact(const ConstantData& c) {
  ConstantData one{c.dtype, {}, std::vector<std::byte>(static_cast<size_t>(size_of(c.dtype)))};
  for (int64_t i = 0; i < c.element_count(); ++i) {
    if (is_float(c.dtype)) {
      const double value = c.as_double(i);
      one.set(0, std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
    } else {
      one.set_int(0, c.as_int(i));
    }
    const auto* element = c.bytes.data() + i * size_of(c.dtype);
    if (std::memcmp(one.bytes.data(), element, one.bytes.size()) != 0) return false;
  }
  return true;
}

std::string element_text(const ConstantData& c, int64_t i) {
  if (c.dtype == DType::boolean) return c.as_int(i) ? "true" : "false";
  if (is_float(c.dtype)) {
    const double value = c.as_double(i);
    return std::isnan(value) ? "nan" : float_text(c.dtype, value);
  }
  return int_text(c.dtype, c.as_int(i));
}

struct AttributePrinter {
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return float_text(DType::f64, v); }
  std::string operator()(const std::string& v) const { return quote(v); }
  std::string operator()(DType v) const { return std::string(name_of(v)); }
  std::string operator()(const Dims& v) const { return dims_text(v); }
  std::string operator()(const FunctionRef& v) const { return function_name(v.name); }
  std::string operator()(const std::vector<int64_t>& v) const {
    return fmt::format("[{}]", fmt::join(v, ", "));
  }
  // An empty list says what it would hold.
  std::string operator()(const std::vector<double>& v) const { return list("floats", v); }
  std::string operator()(const std::vector<std::string>& v) const { return list("texts", v); }

 private:
  template <typename T>
  std::string list(std::string_view kind, const std::vector<T>& items) const {
    if (items.empty()) return fmt::format("{}[]", kind);
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + (*this)(items[i]);
    return out + "]";
  }
};

}  // namespace

std::string print_attributes(const Attributes& attrs) {
  std::string out = "{";
  for (const auto& [name, value] : attrs.map()) {
    out += fmt::format("{}{} = {}", out.size() > 1 ? ", " : "", plain_name(name),
                       std::visit(AttributePrinter{}, value));
  }
  return out + "}";
}

std::string print_facts(const Facts& facts) {
  const std::vector<std::string> list = facts.str();
  return list.empty() ? "" : fmt::format("facts {{ {} }}", fmt::join(list, "; "));
}

std::string print_constant(const ConstantData& c, bool contents) {
  std::string out = fmt::format("{}({})", name_of(c.dtype), fmt::join(c.dims, ", "));
  if (!contents) return out + " elided";
  if (c.element_count() <= kLongestList && list_is_exact(c)) {
    out += " [";
    for (int64_t i = 0; i < c.element_count(); ++i) out += (i ? ", " : "") + element_text(c, i);
    return out + "]";
  }
  static constexpr char digits[] = "0123456789abcdef";
  out += " hex \"";
  out.reserve(out.size() + 2 * c.bytes.size() + 1);
  for (std::byte b : c.bytes) {
    out += digits[static_cast<unsigned>(b) >> 4];
    out += digits[static_cast<unsigned>(b) & 15u];
  }
  return out + "\"";
}

}  // namespace symtile
