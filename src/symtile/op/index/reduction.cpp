// The `reduction` attribute of the scatter operators.
#include "symtile/op/index/reduction.h"

#include <algorithm>
#include <cmath>

namespace symtile {

void require_reduction(const DeduceContext& c) {
  const std::string r = c.attrs().get_text("reduction", "none");
  if (r != "none" && r != "add" && r != "mul" && r != "min" && r != "max") {
    c.fail(DiagId::bad_attribute, "reduction '{}' is none of none, add, mul, min, max", r);
  }
}

void apply_reduction(const std::string& reduction, RefTensor& y, int64_t to,
                     const RefTensor& updates, int64_t from) {
  if (reduction == "none") {
    y.copy_element(to, updates, from);
    return;
  }
  if (y.is_float_kind()) {
    const double a = y.as_double(to), b = updates.as_double(from);
    double value = std::nan("");
    if (reduction == "add") {
      value = a + b;
    } else if (reduction == "mul") {
      value = a * b;
    } else if (!std::isnan(a) && !std::isnan(b)) {
      value = reduction == "min" ? std::min(a, b) : std::max(a, b);
    }
    y.set(to, value);
    return;
  }
  const int64_t a = y.as_int(to), b = updates.as_int(from);
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  int64_t value = 0;
  if (y.dtype == DType::boolean) {
    value = reduction == "add" || reduction == "max" ? a | b : a & b;
  } else if (reduction == "add") {
    value = static_cast<int64_t>(ua + ub);
  } else if (reduction == "mul") {
    value = static_cast<int64_t>(ua * ub);
  } else {
    const bool less = y.dtype == DType::u64 ? ua < ub : a < b;
    value = less == (reduction == "min") ? a : b;
  }
  y.set_int(to, value);
}

Expr reduced(const std::string& reduction, Expr current, Expr update) {
  if (reduction == "none") return update;
  if (update.dtype() == DType::boolean) {
    return reduction == "add" || reduction == "max" ? current || update : current && update;
  }
  if (reduction == "add") return current + update;
  if (reduction == "mul") return current * update;
  return reduction == "min" ? min(current, update) : max(current, update);
}

}  // namespace symtile
