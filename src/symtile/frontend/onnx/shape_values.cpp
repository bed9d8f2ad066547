#include "symtile/frontend/onnx/shape_values.h"

#include <algorithm>
#include <cmath>

namespace symtile::onnx_import {
namespace {

std::optional<KnownElement> exact_fraction(double value, DType dtype) {
  if (!std::isfinite(value) || (value == 0 && std::signbit(value))) return std::nullopt;
  int64_t denominator = 1;
  while (value != std::floor(value)) {
    if (denominator > (int64_t{1} << 16)) return std::nullopt;
    value *= 2;
    denominator *= 2;
  }
  if (std::fabs(value) > 0x1p52) return std::nullopt;
  const KnownElement x = representable({static_cast<int64_t>(value), denominator}, dtype);
  return x.is_known() ? std::optional(x) : std::nullopt;
}

}  // namespace

bool KnownTensor::complete() const {
  return std::all_of(elements.begin(), elements.end(),
                     [](const KnownElement& e) { return e.is_known(); });
}

bool KnownTensor::any_known() const {
  return elements.empty() || std::any_of(elements.begin(), elements.end(),
                                         [](const KnownElement& e) { return e.is_known(); });
}

std::optional<Dims> KnownTensor::formulas() const {
  if (is_float(dtype) || !complete()) return std::nullopt;
  Dims out;
  for (const KnownElement& e : elements) out.push_back(e.value);
  return out;
}

std::optional<std::vector<int64_t>> KnownTensor::numbers() const {
  std::vector<int64_t> out;
  for (const KnownElement& e : elements) {
    const auto n = e.as_const();
    if (!n) return std::nullopt;
    out.push_back(*n);
  }
  return out;
}

Type KnownTensor::type() const { return Type::tensor(Dims(dims.begin(), dims.end()), dtype); }

KnownTensor KnownTensor::vector(DType dtype, std::vector<KnownElement> elements) {
  const auto count = static_cast<int64_t>(elements.size());
  return {dtype, {count}, std::move(elements)};
}

std::optional<int64_t> small_element_count(const Type& type) {
  if (!type.is_tensor() || !type.has_rank()) return std::nullopt;
  // One after another: extents multiply to more than 64 bits in what is far from small.
  int64_t count = 1;
  for (const DimExpr& d : *type.dims) {
    const auto extent = d.as_const();
    if (!extent || *extent > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
    count *= *extent;
    if (count > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
  }
  return count;
}

std::optional<KnownTensor> known_from_constant(const ConstantData& data) {
  if (data.dtype == DType::f16 || data.dtype == DType::bf16) return std::nullopt;
  const int64_t count = data.element_count();
  if (count > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
  KnownTensor out{data.dtype, data.dims, {}};
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(data.dtype)) {
      const auto element = exact_fraction(data.as_double(i), data.dtype);
      if (!element) return std::nullopt;
      out.elements.push_back(*element);
    } else {
      const int64_t value = data.as_int(i);
      if (data.dtype == DType::u64 && value < 0) return std::nullopt;
      out.elements.push_back({value});
    }
  }
  return out;
}

Constant constant_from_known(const KnownTensor& known) {
  for (const KnownElement& e : known.elements) {
    if (!e.is_known() || !e.value.is_const()) return nullptr;
  }
  auto data = make_zeros(known.dtype, known.dims);
  for (size_t i = 0; i < known.elements.size(); ++i) {
    const int64_t value = *known.elements[i].value.as_const();
    if (is_float(known.dtype)) {
      data->set(static_cast<int64_t>(i),
                static_cast<double>(value) / static_cast<double>(known.elements[i].denominator));
    } else {
      data->set_int(static_cast<int64_t>(i), value);
    }
  }
  return data;
}

}  // namespace symtile::onnx_import
