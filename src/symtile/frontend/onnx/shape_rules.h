// What the rules of shape arithmetic share, and those that only move elements (shape_movement.cpp).
#pragma once

#include "symtile/frontend/onnx/shape_values.h"

namespace symtile::onnx_import::shape {

using Outputs = KnownOutputs;
using Shape = std::vector<int64_t>;

int64_t count_of(const Shape& dims);
/// Input i with "?" elements where only the number of elements is known; nullopt otherwise.
std::optional<KnownTensor> input(KnownContext& c, int i);
/// Whole constants of input i or, before operator set `since`, of the attribute.
std::optional<Shape> numbers(KnownContext& c, int i, const char* attr, int since);
/// Whether input i or, before operator set `since`, the attribute is there.
bool given(KnownContext& c, int i, const char* attr, int since);
/// The axis counted from the front; nullopt when there is none.
std::optional<size_t> axis_of(int64_t axis, size_t rank);
/// Which axes the list names; nullopt when one is out of range or named twice.
std::optional<std::vector<bool>> axis_set(const Shape& axes, size_t rank);
/// Numpy broadcasting of extents; nullopt when they do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// `x` repeated to the extents `dims`, which broadcasting gave.
std::optional<KnownTensor> spread(const KnownTensor& x, const Shape& dims);

inline Outputs one(KnownTensor t) {
  Outputs out;
  out.push_back(std::move(t));
  return out;
}
inline Outputs one(std::optional<KnownTensor> t) { return t ? one(std::move(*t)) : Outputs{}; }

/// A tensor of the extents `dims` whose element at an index is the element of `x` at source(index);
/// nullopt when it has too many.
template <typename F>
std::optional<KnownTensor> picked(const KnownTensor& x, Shape dims, F&& source) {
  KnownTensor out{x.dtype, std::move(dims), {}};
  int64_t count = 1;
  for (const int64_t d : out.dims) {
    if (d < 0 || d > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
    count *= d;
    if (count > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
  }
  Shape index(out.dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const Shape from = source(index);
    int64_t flat = 0;
    for (size_t d = 0; d < from.size(); ++d) flat = flat * x.dims[d] + from[d];
    out.elements.push_back(x.elements[static_cast<size_t>(flat)]);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

Outputs gather(KnownContext& c);
Outputs slice(KnownContext& c);
Outputs concat(KnownContext& c);
Outputs split(KnownContext& c);
Outputs squeeze(KnownContext& c);
Outputs unsqueeze(KnownContext& c);
Outputs reshape(KnownContext& c);
Outputs transpose(KnownContext& c);
Outputs expand(KnownContext& c);
Outputs tile(KnownContext& c);

}  // namespace symtile::onnx_import::shape
