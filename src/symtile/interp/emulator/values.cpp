#include "symtile/interp/emulator/values.h"

#include "symtile/ir/expr_node.h"

namespace symtile::emulation {
namespace {

void inherit(const Values& x, Values& out, size_t n) {
  if (!x.any_undefined) return;
  for (size_t k = 0; k < n; ++k) {
    if (x.undefined[k] && !out.origin(k)) out.mark(k, x.undefined[k], n);
  }
}

template <typename F>
bool each(size_t n, F&& f) {
  for (size_t k = 0; k < n; ++k) f(k);
  return true;
}

uint64_t u(int64_t v) { return static_cast<uint64_t>(v); }

/// The operators that index arithmetic and sums of products consist of.
bool quick_i64(BinaryOp op, const Values& x, const Values& y, Values& out, size_t n) {
  const int64_t *a = x.integer.data(), *b = y.integer.data();
  int64_t* o = out.integer.data();
  switch (op) {
    case BinaryOp::add:
      return each(n, [&](size_t k) { o[k] = static_cast<int64_t>(u(a[k]) + u(b[k])); });
    case BinaryOp::sub:
      return each(n, [&](size_t k) { o[k] = static_cast<int64_t>(u(a[k]) - u(b[k])); });
    case BinaryOp::mul:
      return each(n, [&](size_t k) { o[k] = static_cast<int64_t>(u(a[k]) * u(b[k])); });
    case BinaryOp::lt:
      return each(n, [&](size_t k) { o[k] = a[k] < b[k]; });
    case BinaryOp::le:
      return each(n, [&](size_t k) { o[k] = a[k] <= b[k]; });
    case BinaryOp::eq:
      return each(n, [&](size_t k) { o[k] = a[k] == b[k]; });
    default:
      return false;
  }
}

bool quick_real(BinaryOp op, const Values& x, const Values& y, Values& out, size_t n) {
  const double *a = x.real.data(), *b = y.real.data();
  double* o = out.real.data();
  switch (op) {
    case BinaryOp::add:
      return each(n, [&](size_t k) { o[k] = a[k] + b[k]; });
    case BinaryOp::sub:
      return each(n, [&](size_t k) { o[k] = a[k] - b[k]; });
    case BinaryOp::mul:
      return each(n, [&](size_t k) { o[k] = a[k] * b[k]; });
    default:
      return false;
  }
}

}  // namespace

void apply_binary(BinaryOp op, DType t, const Values& x, const Values& y, Values& out, size_t n) {
  const DType result = result_dtype(op, t);
  out.prepare(n, is_float(result));
  if (!is_float(t)) {
    if (t != DType::i64 || !quick_i64(op, x, y, out, n)) {
      each(n,
           [&](size_t k) { out.integer[k] = eval_binary_int(op, t, x.integer[k], y.integer[k]); });
    }
  } else if (is_float(result)) {
    if (!quick_real(op, x, y, out, n))
      each(n, [&](size_t k) { out.real[k] = eval_binary(op, x.real[k], y.real[k]); });
  } else {
    each(n, [&](size_t k) {
      out.integer[k] = static_cast<int64_t>(eval_binary(op, x.real[k], y.real[k]));
    });
  }
  inherit(x, out, n);
  inherit(y, out, n);
}

void apply_unary(UnaryOp op, DType t, const Values& x, Values& out, size_t n) {
  const DType result = result_dtype(op, t);
  out.prepare(n, is_float(result));
  for (size_t k = 0; k < n; ++k) {
    if (!is_float(t)) {
      out.integer[k] = eval_unary_int(op, t, x.integer[k]);
    } else if (is_float(result)) {
      out.real[k] = eval_unary(op, x.real[k]);
    } else {
      out.integer[k] = static_cast<int64_t>(eval_unary(op, x.real[k]));
    }
  }
  inherit(x, out, n);
}

void apply_cast(DType from, DType to, const Values& x, Values& out, size_t n) {
  out.prepare(n, is_float(to));
  for (size_t k = 0; k < n; ++k) {
    const ScalarValue value =
        eval_cast(to, {from, is_float(from) ? x.real[k] : 0, is_float(from) ? 0 : x.integer[k]});
    if (is_float(to)) {
      out.real[k] = value.real;
    } else {
      out.integer[k] = value.integer;
    }
  }
  inherit(x, out, n);
}

}  // namespace symtile::emulation
