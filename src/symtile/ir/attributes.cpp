#include "symtile/ir/attributes.h"

#include "symtile/base/check.h"

namespace symtile {
namespace {

template <typename T>
const T* find(const Attributes& attrs, std::string_view name) {
  const auto it = attrs.map().find(name);
  if (it == attrs.map().end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  SYMTILE_CHECK(value, "attribute '{}' has another kind", name);
  return value;
}

template <typename T>
const T& require(const Attributes& attrs, std::string_view name) {
  const T* value = find<T>(attrs, name);
  SYMTILE_CHECK(value, "attribute '{}' is missing", name);
  return *value;
}

}  // namespace

void Attributes::erase(std::string_view name) {
  const auto it = map_.find(name);
  if (it != map_.end()) map_.erase(it);
}

int64_t Attributes::get_int(std::string_view name) const { return require<int64_t>(*this, name); }

int64_t Attributes::get_int(std::string_view name, int64_t fallback) const {
  const auto* value = find<int64_t>(*this, name);
  return value ? *value : fallback;
}

double Attributes::get_float(std::string_view name) const { return require<double>(*this, name); }

double Attributes::get_float(std::string_view name, double fallback) const {
  const auto* value = find<double>(*this, name);
  return value ? *value : fallback;
}

std::string Attributes::get_text(std::string_view name, std::string_view fallback) const {
  const auto* value = find<std::string>(*this, name);
  return value ? *value : std::string(fallback);
}

DType Attributes::get_dtype(std::string_view name) const { return require<DType>(*this, name); }

std::vector<int64_t> Attributes::get_ints(std::string_view name) const {
  return require<std::vector<int64_t>>(*this, name);
}

std::vector<int64_t> Attributes::get_ints(std::string_view name,
                                          std::vector<int64_t> fallback) const {
  const auto* value = find<std::vector<int64_t>>(*this, name);
  return value ? *value : std::move(fallback);
}

std::vector<double> Attributes::get_floats(std::string_view name) const {
  return require<std::vector<double>>(*this, name);
}

const Dims& Attributes::get_dims(std::string_view name) const { return require<Dims>(*this, name); }

}  // namespace symtile
