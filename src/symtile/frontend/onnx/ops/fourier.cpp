#include "symtile/frontend/onnx/ops/fourier.h"

#include <cmath>
#include <numbers>

namespace symtile::onnx_import {
namespace {

/// A matrix beyond this many elements is not worth its memory.
constexpr int64_t kLargestMatrix = int64_t{1} << 21;

/// (rows * parts_in, bins * parts_out): what input t, part p gives to bin k, part q.
Constant fourier_matrix(DType dtype, int64_t rows, int64_t parts_in, int64_t n, int64_t bins,
                        bool inverse, bool onesided) {
  const int64_t parts_out = inverse && onesided ? 1 : 2;
  const auto m = make_zeros(dtype, {rows * parts_in, bins * parts_out});
  int64_t at = 0;
  for (int64_t t = 0; t < rows; ++t) {
    // The other half of a real signal's spectrum is the conjugate of this one.
    const double twice = inverse && onesided && t != 0 && 2 * t != n ? 2 : 1;
    const double scale = inverse ? twice / static_cast<double>(n) : 1;
    for (int64_t p = 0; p < parts_in; ++p) {
      for (int64_t k = 0; k < bins; ++k) {
        const double turn = static_cast<double>(t * k % n) / static_cast<double>(n);
        const double angle = (inverse ? 2 : -2) * std::numbers::pi * turn;
        const double re = p == 0 ? std::cos(angle) : -std::sin(angle);
        const double im = p == 0 ? std::sin(angle) : std::cos(angle);
        m->set(at++, scale * re);
        if (parts_out == 2) m->set(at++, scale * im);
      }
    }
  }
  return m;
}

}  // namespace

ValueId fourier(ImportContext& c, ValueId x, int axis, const DimExpr& length, bool inverse,
                bool onesided) {
  const Type type = c.build().type(x);
  const auto n = length.as_const();
  if (type.has_rank() && n && *n >= 1 && axis < type.rank() - 1) {
    const Dims& dims = *type.dims;
    const auto extent = dims[static_cast<size_t>(axis)].as_const(), parts = dims.back().as_const();
    const bool to_real = inverse && onesided;
    if (extent && parts && *parts >= 1 && *parts <= 2 && !(to_real && *parts != 2)) {
      const int64_t bins = onesided && !inverse ? *n / 2 + 1 : *n;
      const int64_t used = std::min(*extent, to_real ? *n / 2 + 1 : *n);
      const int64_t parts_out = to_real ? 1 : 2;
      if (used == *extent && used * *parts * bins * parts_out <= kLargestMatrix) {
        const int rank = type.rank();
        // Bring the axis next to the last one, multiply, bring it back.
        std::vector<int64_t> there, back(static_cast<size_t>(rank));
        for (int k = 0; k < rank - 1; ++k) {
          if (k != axis) there.push_back(k);
        }
        there.insert(there.end(), {axis, rank - 1});
        for (size_t k = 0; k < there.size(); ++k) {
          back[static_cast<size_t>(there[k])] = static_cast<int64_t>(k);
        }
        Dims rows;
        for (int k = 0; k < rank - 2; ++k)
          rows.push_back(dims[static_cast<size_t>(there[static_cast<size_t>(k)])]);
        const Dims outer = rows;
        const ValueId flat = c.reshape(c.transpose(x, there), {product(outer), used * *parts});
        const ValueId matrix = c.build().constant(
            fourier_matrix(type.dtype, used, *parts, *n, bins, inverse, onesided));
        rows.push_back(bins);
        rows.push_back(parts_out);
        return c.transpose(c.reshape(c.call("matmul", {flat, matrix}), rows), back);
      }
    }
  }
  return c.call("dft", {x},
                {{"axis", static_cast<int64_t>(axis)},
                 {"length", Dims{length}},
                 {"inverse", int64_t{inverse}},
                 {"onesided", int64_t{onesided}}});
}

}  // namespace symtile::onnx_import
