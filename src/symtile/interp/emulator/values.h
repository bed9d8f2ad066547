// Scalar evaluation for many lanes at once: the operators of scalar_eval.h with the common ones
// inlined.
#pragma once

#include <cmath>
#include <vector>

#include "symtile/ir/scalar_eval.h"

namespace symtile::emulation {

/// One scalar per active lane. `undefined` is only meaningful when `any_undefined`.
struct Values {
  std::vector<double> real;
  std::vector<int64_t> integer;
  std::vector<int> undefined;
  bool any_undefined = false;

  void prepare(size_t n, bool is_real) {
    if (is_real) {
      if (real.size() < n) real.resize(n);
    } else {
      if (integer.size() < n) integer.resize(n);
    }
    any_undefined = false;
  }
  void mark(size_t k, int origin, size_t n) {
    if (!any_undefined) undefined.assign(n, 0);
    any_undefined = true;
    undefined[k] = origin;
  }
  int origin(size_t k) const { return any_undefined ? undefined[k] : 0; }
};

/// out = op(x, y) for n lanes, operands of dtype `t`.
void apply_binary(BinaryOp op, DType t, const Values& x, const Values& y, Values& out, size_t n);
void apply_unary(UnaryOp op, DType t, const Values& x, Values& out, size_t n);
void apply_cast(DType from, DType to, const Values& x, Values& out, size_t n);

}  // namespace symtile::emulation
