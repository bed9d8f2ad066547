#include "symtile/frontend/onnx/input_dims.h"

#include <charconv>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/load_model.h"
#include "symtile/frontend/onnx/tensor_proto.h"

namespace symtile::onnx_import {
namespace {

std::string unnamed(const pb::ValueInfoProto& input, int axis) {
  return fmt::format("{}_d{}", input.name(), axis);
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return std::string(text);
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

InputDims::InputDims(const pb::GraphProto& graph, const std::set<std::string>& initialised,
                     Location where)
    : where_(std::move(where)) {
  // Named dimensions first, so that they keep their names.
  for (const bool named : {true, false}) {
    for (const pb::ValueInfoProto& input : graph.input()) {
      if (initialised.count(input.name())) continue;
      const auto& shape = input.type().tensor_type().shape();
      for (int axis = 0; axis < shape.dim_size(); ++axis) {
        const auto& d = shape.dim(axis);
        const bool has_name =
            d.has_dim_param() && !trimmed(d.dim_param()).empty() && d.dim_param() != "?";
        if (has_name) {
          if (named) add(d.dim_param());
        } else if (!named && !(d.has_dim_value() && d.dim_value() >= 0)) {
          add(unnamed(input, axis));
        }
      }
    }
  }
}

void InputDims::add(const std::string& onnx_name) {
  if (symbols_.count(onnx_name)) return;
  std::string base = sanitize_symbol(onnx_name.substr(0, 200));
  // Words that the text of a formula reads as functions.
  if (base == "min" || base == "max" || base == "ceildiv") base += "_";
  std::string symbol = base;
  for (int i = 1; !taken_.insert(symbol).second; ++i) symbol = fmt::format("{}_{}", base, i);
  symbols_.emplace(onnx_name, std::move(symbol));
}

std::string InputDims::find(const std::string& name) const {
  const auto it = symbols_.find(name);
  if (it != symbols_.end()) return it->second;
  return taken_.count(name) ? name : std::string();
}

void InputDims::unknown(const std::string& text, const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [onnx, symbol] : symbols_) {
    names.push_back(onnx == symbol ? symbol : fmt::format("{} ('{}')", symbol, printable(onnx)));
  }
  if (names.empty()) {
    fail(DiagId::unknown_name, where_,
         "the fact '{}' names the dimension '{}', but all dimensions of the model's inputs are "
         "fixed",
         text, name);
  }
  fail(DiagId::unknown_name, where_,
       "the fact '{}' names the dimension '{}', which the model's inputs do not have; "
       "they have: {}",
       text, name, fmt::join(names, ", "));
}

void InputDims::apply_value(const std::string& text, const std::string& name,
                            const std::string& value, Facts& facts) {
  const std::string symbol = find(name);
  if (symbol.empty()) unknown(text, name);
  const size_t dots = value.find("..");
  const auto low = number(trimmed(value.substr(0, dots)));
  const std::string high_text = dots == std::string::npos ? value : trimmed(value.substr(dots + 2));
  const auto high = number(high_text);
  const bool open = dots != std::string::npos && high_text.empty();
  if (!low || (!high && !open) || *low < 0 || (high && (*high < *low || *high > kMaxDim))) {
    fail(DiagId::bad_shape_fact, where_,
         "'{}' is not a fact about a dimension; write NAME=VALUE or NAME=LOW..HIGH "
         "with 0 <= LOW <= HIGH",
         text);
  }
  if (high && *low == *high) {
    const auto before = fixed_.find(symbol);
    if (before != fixed_.end() && !before->second.is_const(*low)) {
      fail(DiagId::bad_shape_fact, where_, "'{}' contradicts an earlier value {} of the dimension",
           text, before->second.str());
    }
    fixed_.insert_or_assign(symbol, DimExpr(*low));
  } else {
    facts.bound(symbol, *low, high);
  }
}

void InputDims::apply(const std::vector<std::string>& texts, Facts& facts) {
  Facts given;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = trimmed(text.substr(0, equals));
    const bool relation = equals == std::string::npos ||
                          (equals + 1 < text.size() && text[equals + 1] == '=') ||
                          name.find_first_of("<>%!") != std::string::npos;
    if (!relation || !find(name).empty()) {
      apply_value(text, name, equals == std::string::npos ? "" : trimmed(text.substr(equals + 1)),
                  given);
      continue;
    }
    Facts one;
    one.assume_text(text);
    std::set<std::string> symbols;
    for (const auto& entry : one.ranges()) symbols.insert(entry.first);
    for (const auto& entry : one.divisors()) entry.first.collect_symbols(symbols);
    for (const auto& list : {one.equalities(), one.inequalities()}) {
      for (const Facts::Relation& r : list) {
        r.a.collect_symbols(symbols);
        r.b.collect_symbols(symbols);
      }
    }
    for (const std::string& s : symbols) {
      if (!taken_.count(s)) unknown(text, s);
    }
    given.merge(one);
  }
  // A fixed dimension is a number everywhere; what else was said about it must hold for it.
  for (const auto& [symbol, value] : fixed_)
    given.bound(symbol, value.as_const(), value.as_const());
  for (const auto& [symbol, range] : given.ranges()) {
    if (!fixed_.count(symbol)) facts.bound(symbol, range.low, range.high);
  }
  for (const auto& [expr, divisor] : given.divisors()) {
    const DimExpr e = expr.substitute(fixed_);
    const auto value = floormod(e, divisor).as_const();
    if (value && *value != 0) {
      fail(DiagId::bad_shape_fact, where_, "{} is not a multiple of {}", e.str(), divisor);
    }
    if (!value) facts.assume_divisible(e, divisor);
  }
  for (const Facts::Relation& r : given.equalities())
    facts.assume_equal(r.a.substitute(fixed_), r.b.substitute(fixed_));
  for (const Facts::Relation& r : given.inequalities())
    facts.assume_le(r.a.substitute(fixed_), r.b.substitute(fixed_));
}

DimExpr InputDims::dim(const pb::ValueInfoProto& input, int axis) const {
  const auto& d = input.type().tensor_type().shape().dim(axis);
  // Some exporters write -1 for a free dimension.
  if (d.has_dim_value() && d.dim_value() >= 0) {
    if (d.dim_value() > kMaxDim) {
      fail(DiagId::too_large, where_, "dimension {} of the input '{}' is {}", axis,
           printable(input.name()), d.dim_value());
    }
    return d.dim_value();
  }
  const auto named = d.has_dim_param() ? symbols_.find(d.dim_param()) : symbols_.end();
  const std::string& symbol =
      named != symbols_.end() ? named->second : symbols_.at(unnamed(input, axis));
  return DimExpr::symbol(symbol).substitute(fixed_);
}

Type InputDims::type(const pb::ValueInfoProto& input) const {
  if (!input.type().has_tensor_type()) {
    fail(DiagId::unsupported, where_,
         "the input '{}' is not a tensor (sequences, maps and optionals are not supported)",
         printable(input.name()));
  }
  const auto& t = input.type().tensor_type();
  const auto dtype = dtype_of(t.elem_type());
  if (!dtype) {
    fail(DiagId::unsupported, where_,
         "the input '{}' has the element type {}, which is not supported", printable(input.name()),
         onnx_type_name(t.elem_type()));
  }
  if (!t.has_shape()) {
    fail(DiagId::unsupported, where_,
         "the input '{}' has no declared rank; export the model with the number of "
         "dimensions of each input (the dimensions themselves may be free)",
         printable(input.name()));
  }
  if (t.shape().dim_size() > 64) {
    fail(DiagId::too_large, where_, "the input '{}' has rank {}", printable(input.name()),
         t.shape().dim_size());
  }
  Dims dims;
  for (int axis = 0; axis < t.shape().dim_size(); ++axis) dims.push_back(dim(input, axis));
  return Type::tensor(std::move(dims), *dtype);
}

}  // namespace symtile::onnx_import
