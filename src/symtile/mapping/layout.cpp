#include "symtile/mapping/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace symtile {
namespace {

std::shared_ptr<const DataLayout> share(const DataLayout& layout) {
  return std::make_shared<const DataLayout>(layout);
}

std::string text(const std::vector<DimExpr>& dims) {
  std::vector<std::string> parts;
  for (const DimExpr& d : dims) parts.push_back(d.str());
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

DataLayout DataLayout::row_major(std::vector<DimExpr> shape) {
  std::vector<DimExpr> strides(shape.size());
  DimExpr size = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = size;
    size *= shape[d];
  }
  return {std::move(shape), size, Strided{std::move(strides)}};
}

DataLayout DataLayout::column_major(std::vector<DimExpr> shape) {
  std::vector<DimExpr> strides(shape.size());
  DimExpr size = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = size;
    size *= shape[d];
  }
  return {std::move(shape), size, Strided{std::move(strides)}};
}

DataLayout DataLayout::strided(std::vector<DimExpr> shape, std::vector<DimExpr> strides) {
  SYMTILE_CHECK(shape.size() == strides.size(), "{} strides for {} dimensions", strides.size(),
                shape.size());
  DimExpr size = 1;
  for (size_t d = 0; d < shape.size(); ++d) size += (shape[d] - 1) * strides[d];
  return {std::move(shape), size, Strided{std::move(strides)}};
}

DataLayout DataLayout::local(std::vector<DimExpr> shape) {
  return {std::move(shape), 1, Strided{}};
}

DataLayout DataLayout::swizzle(int dim, int by, int shift) const {
  SYMTILE_CHECK(dim >= 0 && dim < rank() && by >= 0 && by < rank() && dim != by,
                "a swizzle of dimension {} by dimension {} of '{}'", dim, by, str());
  SYMTILE_CHECK(shift >= 0 && shift < 32, "a swizzle shifts by {}", shift);
  const auto extent = shape_[static_cast<size_t>(dim)].as_const();
  SYMTILE_CHECK(extent && is_power_of_two(*extent),
                "a swizzle needs a power of two, not extent {} of dimension {}",
                shape_[static_cast<size_t>(dim)].str(), dim);
  return {shape_, size_, Swizzle{share(*this), dim, by, shift, *extent}};
}

DataLayout DataLayout::permute(std::vector<int> order) const {
  std::vector<int> sorted = order, all(shape_.size());
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  SYMTILE_CHECK(sorted == all, "({}) is no permutation of the dimensions of '{}'",
                fmt::join(order, ", "), str());
  std::vector<DimExpr> shape;
  for (const int d : order) shape.push_back(shape_[static_cast<size_t>(d)]);
  return {std::move(shape), size_, Permute{share(*this), std::move(order)}};
}

DataLayout DataLayout::reshape(std::vector<DimExpr> shape) const {
  SYMTILE_CHECK(product(shape) == product(shape_), "'{}' does not reshape to ({})", str(),
                text(shape));
  return {std::move(shape), size_, Reshape{share(*this)}};
}

DataLayout concat(const DataLayout& outer, const DataLayout& inner) {
  std::vector<DimExpr> shape = outer.shape_;
  shape.insert(shape.end(), inner.shape_.begin(), inner.shape_.end());
  return {std::move(shape), outer.size_ * inner.size_,
          DataLayout::Concat{share(outer), share(inner)}};
}

DataLayout operator*(const DataLayout& outer, const DataLayout& inner) {
  SYMTILE_CHECK(outer.rank() == inner.rank(), "'{}' and '{}' have different ranks", outer.str(),
                inner.str());
  std::vector<DimExpr> shape;
  for (size_t d = 0; d < outer.shape_.size(); ++d)
    shape.push_back(outer.shape_[d] * inner.shape_[d]);
  return {std::move(shape), outer.size_ * inner.size_,
          DataLayout::Compose{share(outer), share(inner)}};
}

DimExpr swizzle_xor(const DimExpr& a, const DimExpr& b, int64_t extent) {
  DimExpr out = 0;
  for (int64_t bit = 1; bit < extent; bit *= 2)
    out += floormod(floordiv(a, bit) + floordiv(b, bit), 2) * bit;
  return out;
}

DimExpr DataLayout::operator()(const std::vector<DimExpr>& index) const {
  return layout_address(*this, index, [](const DimExpr& d) { return d; });
}

int64_t DataLayout::at(const std::vector<int64_t>& index) const {
  return layout_address(*this, index, [&](const DimExpr& d) {
    const auto value = d.as_const();
    SYMTILE_CHECK(value, "'{}' is not constant", str());
    return *value;
  });
}

std::string DataLayout::str() const {
  return std::visit(
      [&](const auto& n) -> std::string {
        using N = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<N, Strided>) {
          if (n.strides.empty() && !shape_.empty()) return "local(" + text(shape_) + ")";
          if (n.strides == std::get<Strided>(row_major(shape_).node_).strides)
            return "row_major(" + text(shape_) + ")";
          if (n.strides == std::get<Strided>(column_major(shape_).node_).strides)
            return "column_major(" + text(shape_) + ")";
          return "strided(" + text(shape_) + "; " + text(n.strides) + ")";
        } else if constexpr (std::is_same_v<N, Swizzle>) {
          return fmt::format("swizzle({}; {}, {}, {})", n.base->str(), n.dim, n.by, n.shift);
        } else if constexpr (std::is_same_v<N, Permute>) {
          return fmt::format("permute({}; {})", n.base->str(), fmt::join(n.order, ", "));
        } else if constexpr (std::is_same_v<N, Reshape>) {
          return "reshape(" + n.base->str() + "; " + text(shape_) + ")";
        } else if constexpr (std::is_same_v<N, Concat>) {
          return "concat(" + n.outer->str() + ", " + n.inner->str() + ")";
        } else {
          return n.outer->str() + " * " + n.inner->str();
        }
      },
      node_);
}

}  // namespace symtile
