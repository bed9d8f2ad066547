#include "symtile/driver/run_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <random>

#include "symtile/diag/diagnostic.h"
#include "symtile/driver/npy.h"
#include "symtile/shape/facts.h"

namespace symtile {
namespace {

constexpr int64_t kMaxInputElements = int64_t{1} << 32;

std::pair<std::string, std::string> split(const std::string& text, const char* form) {
  const size_t eq = text.rfind('=');
  if (eq == std::string::npos || eq == 0) {
    fail(DiagId::bad_shape_fact, {}, "'{}' is not of the form {}", text, form);
  }
  return {text.substr(0, eq), text.substr(eq + 1)};
}

std::optional<int64_t> parse_extent(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (text.empty() || !whole || value < 0 || value > kMaxDim) return std::nullopt;
  return value;
}

int64_t extent_of(const std::string& spec, std::string_view text) {
  const auto value = parse_extent(text);
  if (!value) {
    fail(DiagId::bad_shape_fact, {}, "'{}': a dimension is a number from 0 to {}", spec, kMaxDim);
  }
  return *value;
}

std::optional<std::string> find_symbol(const std::vector<std::string>& symbols,
                                       const std::string& name) {
  for (const std::string& s : symbols) {
    if (s == name) return s;
  }
  for (const std::string& s : symbols) {
    if (s == sanitize_symbol(name)) return s;
  }
  return std::nullopt;
}

std::vector<std::string> symbols_of(const api::Model& model) {
  std::vector<std::string> out;
  for (size_t i = 0; i < symtile_model_symbol_count(model.get()); ++i) {
    out.emplace_back(symtile_model_symbol(model.get(), i));
  }
  return out;
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// The same numbers on every machine, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  double real() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1.0; }
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 engine_;
};

Constant random_tensor(DType dtype, const std::vector<int64_t>& dims, Random& random) {
  auto out = make_zeros(dtype, dims);
  const int64_t count = out->element_count();
  // Wide integers are indices and token numbers as a rule, and 0 and 1 are in nearly every table;
  // bytes are pixels.
  const int64_t limit = dtype != DType::boolean && size_of(dtype) == 1 ? 128 : 2;
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(dtype)) {
      out->set(i, random.real());
    } else {
      out->set_int(i, random.below(limit));
    }
  }
  return out;
}

class Resolver {
 public:
  Resolver(const api::Model& model, const InputSpec& spec)
      : model_(model), symbols_(symbols_of(model)), random_(spec.seed) {
    for (size_t i = 0; i < model.input_count(); ++i) inputs_.emplace_back(model.input(i).name);
    for (const std::string& text : spec.dims) dim(text);
    for (const std::string& text : spec.files) {
      const auto [name, file] = split(text, "INPUT=FILE.npy");
      const size_t input = find_input(name);
      given_[input] = read_npy(file);
      bind(input, given_[input]->dims, text);
    }
    for (const std::string& text : spec.fills) {
      const auto [name, number] = split(text, "INPUT=NUMBER");
      char* end = nullptr;
      fills_[find_input(name)] = std::strtod(number.c_str(), &end);
      if (number.empty() || *end != '\0') {
        fail(DiagId::bad_input, {}, "'{}': '{}' is not a number", text, number);
      }
    }
  }

  RunInputs make() {
    const std::vector<std::vector<int64_t>> shapes = all_shapes();
    RunInputs out;
    for (size_t i = 0; i < inputs_.size(); ++i) out.values.push_back(tensor(i, shapes[i]));
    out.symbols = std::move(values_);
    return out;
  }

 private:
  size_t find_input(const std::string& name) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == name) return i;
    }
    fail(DiagId::unknown_name, {}, "the model has no input '{}'; its inputs are: {}", name,
         list(inputs_));
  }

  void dim(const std::string& text) {
    const auto [name, value] = split(text, "NAME=VALUE or INPUT=AxBxC");
    if (const auto symbol = find_symbol(symbols_, name)) {
      set(*symbol, extent_of(text, value), text);
      return;
    }
    const bool is_input = std::find(inputs_.begin(), inputs_.end(), name) != inputs_.end();
    if (!is_input) {
      fail(DiagId::unknown_name, {},
           "the model has no dimension '{}'; its dimensions are: {}; its inputs are: {}", name,
           list(symbols_), list(inputs_));
    }
    std::vector<int64_t> dims;
    for (size_t at = 0; at < value.size();) {
      const size_t x = std::min(value.find('x', at), value.size());
      dims.push_back(extent_of(text, std::string_view(value).substr(at, x - at)));
      at = x + 1;
    }
    const size_t input = find_input(name);
    shapes_[input] = dims;
    bind(input, dims, text);
  }

  void set(const std::string& symbol, int64_t value, const std::string& why) {
    const auto [it, fresh] = values_.emplace(symbol, value);
    if (!fresh && it->second != value) {
      fail(DiagId::bad_shape_fact, {}, "'{}' makes the dimension {} {}, but it is {} already", why,
           symbol, value, it->second);
    }
  }

  /// Symbols that stand alone in the shape of an input get the values of a given shape.
  void bind(size_t input, const std::vector<int64_t>& dims, const std::string& why) {
    const symtile_value_info& info = model_.input(input);
    if (info.rank < 0) return;
    if (static_cast<size_t>(info.rank) != dims.size()) {
      fail(DiagId::bad_input, {}, "'{}': the input '{}' has rank {}, not {}", why, info.name,
           info.rank, dims.size());
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      if (const auto symbol = find_symbol(symbols_, info.dims[i]);
          symbol && *symbol == info.dims[i]) {
        set(*symbol, dims[i], why);
      }
    }
  }

  std::vector<std::vector<int64_t>> all_shapes() {
    std::vector<std::vector<int64_t>> out(inputs_.size());
    std::vector<std::string> missing;
    for (const std::string& s : symbols_) {
      if (!values_.count(s)) missing.push_back(s);
    }
    if (!missing.empty()) {
      fail(DiagId::bad_input, {},
           "no value for the dimension{} {}; give --dim {}=VALUE; the inputs are {}",
           missing.size() > 1 ? "s" : "", list(missing), missing.front(), signature());
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (given_.count(i)) continue;
      if (const auto it = shapes_.find(i); it != shapes_.end()) {
        out[i] = it->second;
        continue;
      }
      const symtile_value_info& info = model_.input(i);
      bool known = info.rank >= 0;
      for (int32_t d = 0; d < info.rank; ++d) known &= !parse_dim_expr(info.dims[d]).is_unknown();
      if (!known) {
        fail(DiagId::bad_input, {},
             "the model does not say the shape of the input '{}'; give --dim {}=AxBxC", info.name,
             info.name);
      }
      for (int32_t d = 0; d < info.rank; ++d) {
        out[i].push_back(parse_dim_expr(info.dims[d]).evaluate(values_));
      }
    }
    return out;
  }

  std::string signature() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const symtile_value_info& info = model_.input(i);
      std::vector<std::string> dims(info.dims, info.dims + std::max(info.rank, 0));
      out.push_back(fmt::format("{} ({})", info.name, fmt::join(dims, ", ")));
    }
    return list(out);
  }

  Constant tensor(size_t input, const std::vector<int64_t>& dims) {
    if (const auto it = given_.find(input); it != given_.end()) return it->second;
    const auto dtype = static_cast<DType>(model_.input(input).dtype);
    int64_t count = 1;
    for (const int64_t d : dims) {
      if (__builtin_mul_overflow(count, d, &count) || count > kMaxInputElements) {
        fail(DiagId::too_large, {},
             "the input '{}' would have the shape ({}), more than {} elements", inputs_[input],
             fmt::join(dims, ", "), kMaxInputElements);
      }
    }
    const auto fill = fills_.find(input);
    if (fill == fills_.end()) return random_tensor(dtype, dims, random_);
    auto out = make_zeros(dtype, dims);
    for (int64_t i = 0; i < out->element_count(); ++i) out->set(i, fill->second);
    return out;
  }

  const api::Model& model_;
  std::vector<std::string> symbols_, inputs_;
  DimValues values_;
  std::map<size_t, std::vector<int64_t>> shapes_;
  std::map<size_t, Constant> given_;
  std::map<size_t, double> fills_;
  Random random_;
};

}  // namespace

RunInputs make_run_inputs(const api::Model& model, const InputSpec& spec) {
  return Resolver(model, spec).make();
}

DimValues parse_dim_values(const std::vector<std::string>& symbols,
                           const std::vector<std::string>& texts) {
  DimValues out;
  for (const std::string& text : texts) {
    const auto [name, value] = split(text, "NAME=VALUE");
    const auto symbol = find_symbol(symbols, name);
    if (!symbol) {
      fail(DiagId::unknown_name, {}, "the model has no dimension '{}'; its dimensions are: {}",
           name, list(symbols));
    }
    out[*symbol] = extent_of(text, value);
  }
  return out;
}

}  // namespace symtile
