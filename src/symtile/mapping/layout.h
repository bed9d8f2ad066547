// Data layouts: where an element of a buffer lives, as task mappings say who computes it.
//
// A layout is a function from an index of its shape to an address in [0, size). Swizzles move
// elements so that lanes meet in different banks of shared memory; `local` gives every index of a
// dimension the same slot (each thread has its own copy). Layouts compose as Hidet's do:
//   (o * i)(x) = o(x / i.shape) * i.size + i(x mod i.shape)
// so a tiled layout is row_major(tiles) * row_major(tile). Extents and indices may be symbolic;
// layout_address evaluates over any index type with + * floordiv floormod and swizzle_xor.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "symtile/base/check.h"
#include "symtile/shape/dim_expr.h"

namespace symtile {

class DataLayout {
 public:
  struct Strided {
    std::vector<DimExpr> strides;  ///< empty: every index has address 0
  };
  /// index[dim] becomes index[dim] xor ((index[by] >> shift) mod shape[dim]).
  struct Swizzle {
    std::shared_ptr<const DataLayout> base;
    int dim, by, shift;
    int64_t extent;  ///< of dim, a power of two
  };
  struct Permute {
    std::shared_ptr<const DataLayout> base;
    std::vector<int> order;
  };
  struct Reshape {
    std::shared_ptr<const DataLayout> base;
  };
  /// The leading dimensions address blocks of the inner layout.
  struct Concat {
    std::shared_ptr<const DataLayout> outer, inner;
  };
  struct Compose {
    std::shared_ptr<const DataLayout> outer, inner;
  };
  using Node = std::variant<Strided, Swizzle, Permute, Reshape, Concat, Compose>;

  static DataLayout row_major(std::vector<DimExpr> shape);
  static DataLayout column_major(std::vector<DimExpr> shape);
  /// The size is 1 + the address of the last element (an extent of 0 has no elements: size 0 is not
  /// computed for it).
  static DataLayout strided(std::vector<DimExpr> shape, std::vector<DimExpr> strides);
  /// All indices share one address: the dimensions that a thread owns alone.
  static DataLayout local(std::vector<DimExpr> shape);

  /// XORs index `dim`, whose extent is a constant power of two, with index `by` >> shift.
  DataLayout swizzle(int dim, int by, int shift = 0) const;
  /// Dimension i of the result is dimension order[i] of this layout.
  DataLayout permute(std::vector<int> order) const;
  /// The elements in row-major order of their indices stay the same; as many as before.
  DataLayout reshape(std::vector<DimExpr> shape) const;
  /// Shapes side by side: (x, y) -> outer(x) * inner.size + inner(y).
  friend DataLayout concat(const DataLayout& outer, const DataLayout& inner);
  friend DataLayout operator*(const DataLayout& outer, const DataLayout& inner);

  int rank() const { return static_cast<int>(shape_.size()); }
  const std::vector<DimExpr>& shape() const { return shape_; }
  /// Addresses are in [0, size).
  const DimExpr& size() const { return size_; }
  const Node& node() const { return node_; }

  DimExpr operator()(const std::vector<DimExpr>& index) const;
  /// All extents must be constants.
  int64_t at(const std::vector<int64_t>& index) const;
  /// "row_major(4, 8)", "swizzle(row_major(8, 8), 1, 0)", ...
  std::string str() const;

 private:
  DataLayout(std::vector<DimExpr> shape, DimExpr size, Node node)
      : shape_(std::move(shape)), size_(std::move(size)), node_(std::move(node)) {}
  std::vector<DimExpr> shape_;
  DimExpr size_;
  Node node_;
};

/// a xor b for 0 <= a, b < 2^k = extent, of formulas: sum over bits of ((a_i + b_i) mod 2) * 2^i.
DimExpr swizzle_xor(const DimExpr& a, const DimExpr& b, int64_t extent);
inline int64_t swizzle_xor(int64_t a, int64_t b, int64_t) { return a ^ b; }
inline int64_t floordiv(int64_t a, int64_t b) { return a / b; }  ///< of indices: not negative
inline int64_t floormod(int64_t a, int64_t b) { return a % b; }

/// The address of `index`; `number(d)` turns a formula into an index.
template <typename Index, typename Number>
Index layout_address(const DataLayout& layout, const std::vector<Index>& index,
                     const Number& number) {
  SYMTILE_CHECK(static_cast<int>(index.size()) == layout.rank(), "{} indices for '{}'",
                index.size(), layout.str());
  const auto again = [&](const DataLayout& l, const std::vector<Index>& at) {
    return layout_address(l, at, number);
  };
  return std::visit(
      [&](const auto& n) -> Index {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, DataLayout::Strided>) {
          Index out = number(DimExpr(0));
          for (size_t d = 0; d < n.strides.size(); ++d) out = out + index[d] * number(n.strides[d]);
          return out;
        } else if constexpr (std::is_same_v<N, DataLayout::Swizzle>) {
          std::vector<Index> at = index;
          const Index key = floormod(
              floordiv(index[static_cast<size_t>(n.by)], number(DimExpr(int64_t{1} << n.shift))),
              number(DimExpr(n.extent)));
          Index& moved = at[static_cast<size_t>(n.dim)];
          moved = swizzle_xor(moved, key, n.extent);
          return again(*n.base, at);
        } else if constexpr (std::is_same_v<N, DataLayout::Permute>) {
          std::vector<Index> at = index;
          for (size_t d = 0; d < index.size(); ++d) at[static_cast<size_t>(n.order[d])] = index[d];
          return again(*n.base, at);
        } else if constexpr (std::is_same_v<N, DataLayout::Reshape>) {
          Index flat = number(DimExpr(0));
          for (size_t d = 0; d < index.size(); ++d)
            flat = flat * number(layout.shape()[d]) + index[d];
          const auto& shape = n.base->shape();
          std::vector<Index> at(shape.size(), flat);
          for (size_t d = shape.size(); d-- > 0;) {
            at[d] = d == 0 ? flat : floormod(flat, number(shape[d]));
            if (d > 0) flat = floordiv(flat, number(shape[d]));
          }
          return again(*n.base, at);
        } else if constexpr (std::is_same_v<N, DataLayout::Concat>) {
          const auto split = index.begin() + n.outer->rank();
          return again(*n.outer, {index.begin(), split}) * number(n.inner->size()) +
                 again(*n.inner, {split, index.end()});
        } else {
          std::vector<Index> high = index, low = index;
          for (size_t d = 0; d < index.size(); ++d) {
            high[d] = floordiv(index[d], number(n.inner->shape()[d]));
            low[d] = floormod(index[d], number(n.inner->shape()[d]));
          }
          return again(*n.outer, high) * number(n.inner->size()) + again(*n.inner, low);
        }
      },
      layout.node());
}

}  // namespace symtile
