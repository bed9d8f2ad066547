#include "symtile/op/ref_tensor.h"

#include "symtile/base/check.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile {

RefTensor::RefTensor(DType type, std::vector<int64_t> extents)
    : dtype(type), dims(std::move(extents)) {
  int64_t count = 1;
  for (int64_t d : dims) {
    SYMTILE_CHECK(d >= 0 && !__builtin_mul_overflow(count, d, &count), "bad extents of a tensor");
  }
  if (is_float_kind()) {
    f.resize(static_cast<size_t>(count));
  } else {
    i.resize(static_cast<size_t>(count));
  }
}

int64_t RefTensor::as_int(int64_t at) const {
  const auto k = static_cast<size_t>(at);
  return is_float_kind() ? cast_float_to_int(DType::i64, f.at(k)) : i.at(k);
}

void RefTensor::copy_element(int64_t to, const RefTensor& source, int64_t from) {
  SYMTILE_CHECK(is_float_kind() == source.is_float_kind());
  if (is_float_kind()) {
    f.at(static_cast<size_t>(to)) = source.f.at(static_cast<size_t>(from));
  } else {
    set_int(to, source.i.at(static_cast<size_t>(from)));
  }
}

void RefTensor::set(int64_t at, double value) {
  if (is_float_kind()) {
    f.at(static_cast<size_t>(at)) = value;
  } else {
    set_int(at, cast_float_to_int(dtype == DType::u64 ? DType::u64 : DType::i64, value));
  }
}

void RefTensor::set_int(int64_t at, int64_t value) {
  if (is_float_kind()) {
    f.at(static_cast<size_t>(at)) = static_cast<double>(value);
  } else {
    i.at(static_cast<size_t>(at)) = wrap_to(dtype, value);
  }
}

std::vector<int64_t> RefTensor::strides() const {
  std::vector<int64_t> out(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) out[k - 1] = out[k] * dims[k];
  return out;
}

RefTensor RefTensor::from_constant(const ConstantData& c) {
  RefTensor t(c.dtype, c.dims);
  for (int64_t k = 0; k < t.size(); ++k) {
    if (t.is_float_kind()) {
      t.f[static_cast<size_t>(k)] = c.as_double(k);
    } else {
      t.i[static_cast<size_t>(k)] = c.as_int(k);
    }
  }
  return t;
}

Constant RefTensor::to_constant() const {
  auto out = make_zeros(dtype, dims);
  for (int64_t k = 0; k < size(); ++k) {
    if (is_float_kind()) {
      out->set(k, round_to(dtype, f[static_cast<size_t>(k)]));
    } else {
      out->set_int(k, i[static_cast<size_t>(k)]);
    }
  }
  return out;
}

}  // namespace symtile
