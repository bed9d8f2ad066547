#include "symtile/driver/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace symtile {
namespace {

/// The position of a row-major element, as text: "[0, 3]".
std::string position(const ConstantData& data, int64_t at) {
  std::vector<int64_t> index(data.dims.size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = at % data.dims[i];
    at /= data.dims[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// By how many tolerances two numbers differ; at most 1 is agreement.
double excess(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(actual) && std::isnan(expected)) return 0;
  if (actual == expected) return 0;
  const double error = std::abs(actual - expected);
  if (!std::isfinite(error)) return HUGE_VAL;
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
  return allowed > 0 ? error / allowed : HUGE_VAL;
}

}  // namespace

Tolerance tolerance_of(DType dtype) {
  if (dtype == DType::f16) return {5e-3, 1e-3};
  if (dtype == DType::bf16) return {2e-2, 1e-2};
  if (is_float(dtype)) return {};
  return {0, 0};
}

Tolerance scaled_tolerance(const ConstantData& expected) {
  Tolerance out = tolerance_of(expected.dtype);
  if (expected.dtype != DType::f32) return out;
  double greatest = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double e = std::abs(expected.as_double(i));
    if (std::isfinite(e)) greatest = std::max(greatest, e);
  }
  out.absolute = std::max(out.absolute, 0x1p-22 * greatest);
  return out;
}

Comparison compare(const ConstantData& actual, const ConstantData& expected,
                   const Tolerance& tolerance) {
  Comparison out;
  if (actual.dtype != expected.dtype) {
    out.mismatch =
        fmt::format("the dtype is {}, not {}", name_of(actual.dtype), name_of(expected.dtype));
    return out;
  }
  if (actual.dims != expected.dims) {
    out.mismatch = fmt::format("the shape is ({}), not ({})", fmt::join(actual.dims, ", "),
                               fmt::join(expected.dims, ", "));
    return out;
  }
  const int64_t count = expected.element_count();
  int64_t wrong = 0, worst = 0;
  double worst_excess = 1;
  for (int64_t i = 0; i < count; ++i) {
    if (!is_float(expected.dtype)) {  // exact, also where a double is not
      if (actual.as_int(i) == expected.as_int(i)) continue;
      if (wrong++ == 0) worst = i;
      out.max_error =
          std::max(out.max_error, std::abs(actual.as_double(i) - expected.as_double(i)));
      continue;
    }
    const double a = actual.as_double(i), e = expected.as_double(i);
    if (const double error = std::abs(a - e); std::isfinite(error)) {
      out.max_error = std::max(out.max_error, error);
    }
    const double by = excess(a, e, tolerance);
    if (by <= 1) continue;
    ++wrong;
    if (by > worst_excess) {
      worst_excess = by;
      worst = i;
    }
  }
  if (wrong > 0) {
    out.mismatch =
        fmt::format("{} of {} elements differ; element {} is {}, not {}", wrong, count,
                    position(expected, worst), actual.as_double(worst), expected.as_double(worst));
  }
  return out;
}

}  // namespace symtile
