// Builtins: the library calls that the runtime itself carries, for operators whose result size or
// order depends on the data (nonzero, top_k, ...) and so have no loop form.
//
// A builtin sees dense row-major tensors and the attributes of the call, with every formula
// already evaluated. It is one file builtins/<name>.cpp and one line in builtins.def; the library
// call of the same name in the compiler's library/calls.def says when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symtile/base/dtype.h"

namespace symtile {

/// A read-only argument: row-major, no gaps.
struct BuiltinTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  const std::byte* data = nullptr;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

/// What one call of a builtin sees: its arguments and attributes, and where its results go.
class BuiltinContext {
 public:
  virtual ~BuiltinContext() = default;

  virtual int num_inputs() const = 0;
  /// Argument i; null when an optional argument is absent (or i is past the last).
  virtual const BuiltinTensor* input(int i) const = 0;

  virtual bool has_attr(std::string_view name) const = 0;
  /// Attributes by name; the fallback when absent. A `dims` attribute is read as integers.
  virtual int64_t attr_int(std::string_view name, int64_t fallback) const = 0;
  virtual double attr_float(std::string_view name, double fallback) const = 0;
  virtual std::string attr_text(std::string_view name, std::string_view fallback) const = 0;
  virtual std::vector<int64_t> attr_ints(std::string_view name,
                                         std::vector<int64_t> fallback) const = 0;

  /// Allocates result k (each exactly once) and returns its uninitialised bytes, aligned for any
  /// element type. The pointer may be null only when the tensor has no elements.
  virtual std::byte* output(int k, DType dtype, const std::vector<int64_t>& dims) = 0;
  template <typename T>
  T* output_as(int k, DType dtype, const std::vector<int64_t>& dims) {
    return reinterpret_cast<T*>(output(k, dtype, dims));
  }

  /// Throws a UserError that names the call.
  [[noreturn]] virtual void fail(const std::string& message) const = 0;
};

using BuiltinFunction = void (*)(BuiltinContext&);

/// The builtin of that name; null when there is none.
BuiltinFunction find_builtin(std::string_view name);

}  // namespace symtile
