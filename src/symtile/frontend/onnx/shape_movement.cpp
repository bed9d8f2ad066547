// Rules of shape arithmetic that move elements; see shape_values.h.
#include <algorithm>

#include "symtile/frontend/onnx/shape_rules.h"

namespace symtile::onnx_import::shape {

int64_t count_of(const Shape& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

std::optional<KnownTensor> input(KnownContext& c, int i) {
  if (!c.has(i)) return std::nullopt;
  if (const KnownTensor* k = c.known(i)) return *k;
  const Type& t = c.type(i);
  const auto count = small_element_count(t);
  if (!count) return std::nullopt;
  KnownTensor out{t.dtype, {}, {}};
  for (const DimExpr& d : *t.dims) out.dims.push_back(*d.as_const());
  out.elements.assign(static_cast<size_t>(*count), KnownElement::unknown());
  return out;
}

std::optional<Shape> numbers(KnownContext& c, int i, const char* attr, int since) {
  if (c.opset() < since) {
    if (!c.has_attr(attr)) return std::nullopt;
    return c.attr_ints(attr, {});
  }
  const KnownTensor* k = c.has(i) ? c.known(i) : nullptr;
  return k ? k->numbers() : std::nullopt;
}

bool given(KnownContext& c, int i, const char* attr, int since) {
  return c.opset() < since ? c.has_attr(attr) : c.has(i);
}

std::optional<size_t> axis_of(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

std::optional<std::vector<bool>> axis_set(const Shape& axes, size_t rank) {
  std::vector<bool> out(rank, false);
  for (const int64_t a : axes) {
    const auto axis = axis_of(a, rank);
    if (!axis || out[*axis]) return std::nullopt;
    out[*axis] = true;
  }
  return out;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  for (size_t k = 0; k < shorter.size(); ++k) {
    int64_t& d = out[out.size() - shorter.size() + k];
    if (d == 1) {
      d = shorter[k];
    } else if (shorter[k] != 1 && shorter[k] != d) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<KnownTensor> spread(const KnownTensor& x, const Shape& dims) {
  return picked(x, dims, [&](const Shape& index) {
    Shape from(index.end() - static_cast<std::ptrdiff_t>(x.rank()), index.end());
    for (size_t d = 0; d < from.size(); ++d) from[d] = x.dims[d] == 1 ? 0 : from[d];
    return from;
  });
}

Outputs gather(KnownContext& c) {
  const auto x = input(c, 0);
  const KnownTensor* indices = c.known(1);
  if (!x || !indices) return {};
  const auto axis = axis_of(c.attr_int("axis", 0), x->rank());
  auto list = indices->numbers();
  if (!axis || !list) return {};
  const int64_t n = x->dims[*axis];
  for (int64_t& i : *list) {
    if (i < -n || i >= n) return {};
    if (i < 0) i += n;
  }
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  const auto more = static_cast<std::ptrdiff_t>(indices->rank());
  Shape dims(x->dims.begin(), x->dims.begin() + at);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), x->dims.begin() + at + 1, x->dims.end());
  return one(picked(*x, std::move(dims), [&](const Shape& index) {
    Shape from(index.begin(), index.begin() + at);
    int64_t which = 0;
    for (std::ptrdiff_t d = 0; d < more; ++d)
      which = which * indices->dims[static_cast<size_t>(d)] + index[static_cast<size_t>(at + d)];
    from.push_back((*list)[static_cast<size_t>(which)]);
    from.insert(from.end(), index.begin() + at + more, index.end());
    return from;
  }));
}

namespace {

/// One axis of a Slice: its first index, how far apart, and how many.
struct Span {
  int64_t first = 0, step = 1, count = 0;
};

Span span_of(int64_t n, int64_t start, int64_t end, int64_t step) {
  const auto bound = [&](int64_t at) {
    if (at < 0) at = at < -n ? -1 : at + n;
    return step > 0 ? std::clamp<int64_t>(at, 0, n) : std::clamp<int64_t>(at, -1, n - 1);
  };
  const int64_t first = bound(start), last = bound(end);
  // A step beyond the extent takes one element, and cannot overflow here.
  step = std::clamp<int64_t>(step, -(n + 1), n + 1);
  const int64_t length = step > 0 ? last - first : first - last, by = step > 0 ? step : -step;
  return {first, step, length > 0 ? (length + by - 1) / by : 0};
}

}  // namespace

Outputs slice(KnownContext& c) {
  const auto x = input(c, 0);
  const auto starts = numbers(c, 1, "starts", 10), ends = numbers(c, 2, "ends", 10);
  if (!x || !starts || !ends || starts->size() != ends->size()) return {};
  Shape axes;
  if (given(c, 3, "axes", 10)) {
    const auto list = numbers(c, 3, "axes", 10);
    if (!list) return {};
    axes = *list;
  } else {
    for (size_t k = 0; k < starts->size(); ++k) axes.push_back(static_cast<int64_t>(k));
  }
  Shape steps(starts->size(), 1);
  if (c.opset() >= 10 && c.has(4)) {
    const auto list = numbers(c, 4, "steps", 10);
    if (!list) return {};
    steps = *list;
  }
  if (axes.size() != starts->size() || steps.size() != starts->size() || !axis_set(axes, x->rank()))
    return {};
  std::vector<Span> spans;
  for (const int64_t d : x->dims) spans.push_back({0, 1, d});
  for (size_t k = 0; k < axes.size(); ++k) {
    if (steps[k] == 0) return {};
    const size_t axis = *axis_of(axes[k], x->rank());
    spans[axis] = span_of(x->dims[axis], (*starts)[k], (*ends)[k], steps[k]);
  }
  Shape dims;
  for (const Span& s : spans) dims.push_back(s.count);
  return one(picked(*x, std::move(dims), [&](const Shape& index) {
    Shape from;
    for (size_t d = 0; d < index.size(); ++d)
      from.push_back(spans[d].first + index[d] * spans[d].step);
    return from;
  }));
}

Outputs concat(KnownContext& c) {
  std::vector<KnownTensor> parts;
  for (int i = 0; i < c.num_inputs(); ++i) {
    auto x = input(c, i);
    if (!x || (i > 0 && (x->dtype != parts[0].dtype || x->rank() != parts[0].rank()))) return {};
    parts.push_back(std::move(*x));
  }
  const auto axis = parts.empty() ? std::nullopt : axis_of(c.attr_int("axis", 1), parts[0].rank());
  if (!axis) return {};
  KnownTensor out{parts[0].dtype, parts[0].dims, {}};
  out.dims[*axis] = 0;
  for (const KnownTensor& x : parts) {
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d != *axis && x.dims[d] != out.dims[d]) return {};
    }
    out.dims[*axis] += x.dims[*axis];
  }
  if (count_of(out.dims) > static_cast<int64_t>(kMaxKnownElements)) return {};
  const auto split_at = static_cast<std::ptrdiff_t>(*axis);
  const int64_t outer = count_of(Shape(out.dims.begin(), out.dims.begin() + split_at));
  for (int64_t o = 0; o < outer; ++o) {
    for (const KnownTensor& x : parts) {
      const int64_t run = count_of(Shape(x.dims.begin() + split_at, x.dims.end()));
      const auto begin = x.elements.begin() + o * run;
      out.elements.insert(out.elements.end(), begin, begin + run);
    }
  }
  return one(std::move(out));
}

Outputs split(KnownContext& c) {
  const auto x = input(c, 0);
  const auto axis = x ? axis_of(c.attr_int("axis", 0), x->rank()) : std::nullopt;
  if (!axis || c.num_outputs() == 0) return {};
  const int64_t n = x->dims[*axis];
  Shape sizes;
  if (given(c, 1, "split", 13)) {
    const auto list = numbers(c, 1, "split", 13);
    if (!list) return {};
    sizes = *list;
  } else {
    if (n % c.num_outputs() != 0) return {};
    sizes.assign(static_cast<size_t>(c.num_outputs()), n / c.num_outputs());
  }
  Outputs out;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > n - begin) return {};
    Shape dims = x->dims;
    dims[*axis] = size;
    auto part = picked(*x, std::move(dims), [&](Shape index) {
      index[*axis] += begin;
      return index;
    });
    if (!part) return {};
    out.push_back(std::move(*part));
    begin += size;
  }
  return begin == n && out.size() == static_cast<size_t>(c.num_outputs()) ? out : Outputs{};
}

Outputs squeeze(KnownContext& c) {
  auto x = input(c, 0);
  if (!x) return {};
  std::vector<bool> dropped(x->rank());
  if (given(c, 1, "axes", 13)) {
    const auto axes = numbers(c, 1, "axes", 13);
    const auto set = axes ? axis_set(*axes, x->rank()) : std::nullopt;
    if (!set) return {};
    dropped = *set;
  } else {
    for (size_t d = 0; d < x->rank(); ++d) dropped[d] = x->dims[d] == 1;
  }
  Shape dims;
  for (size_t d = 0; d < x->rank(); ++d) {
    if (!dropped[d]) dims.push_back(x->dims[d]);
    if (dropped[d] && x->dims[d] != 1) return {};
  }
  x->dims = std::move(dims);
  return one(std::move(x));
}

Outputs unsqueeze(KnownContext& c) {
  auto x = input(c, 0);
  const auto axes = numbers(c, 1, "axes", 13);
  if (!x || !axes) return {};
  const auto added = axis_set(*axes, x->rank() + axes->size());
  if (!added) return {};
  Shape dims;
  size_t next = 0;
  for (const bool is_new : *added) dims.push_back(is_new ? 1 : x->dims[next++]);
  x->dims = std::move(dims);
  return one(std::move(x));
}

Outputs reshape(KnownContext& c) {
  auto x = input(c, 0);
  auto target = numbers(c, 1, "shape", 5);
  if (!x || !target) return {};
  const auto n = static_cast<int64_t>(x->elements.size());
  int64_t others = 1;
  int64_t* open = nullptr;
  for (size_t d = 0; d < target->size(); ++d) {
    int64_t& t = (*target)[d];
    if (t == 0 && c.attr_int("allowzero", 0) == 0) {
      if (d >= x->rank()) return {};
      t = x->dims[d];
    }
    if (t < -1 || t > n || (t == -1 && open)) return {};
    if (t == -1) {
      open = &t;
    } else {
      others = std::min(others * t, n + 1);
    }
  }
  if (open) {
    if (others == 0 || n % others != 0) return {};
    *open = n / others;
  } else if (others != n) {
    return {};
  }
  x->dims = std::move(*target);
  return one(std::move(x));
}

Outputs transpose(KnownContext& c) {
  const auto x = input(c, 0);
  if (!x) return {};
  Shape backwards;
  for (size_t d = x->rank(); d-- > 0;) backwards.push_back(static_cast<int64_t>(d));
  const Shape perm = c.attr_ints("perm", backwards);
  if (perm.size() != x->rank() || !axis_set(perm, x->rank())) return {};
  Shape dims;
  for (const int64_t p : perm) dims.push_back(x->dims[*axis_of(p, x->rank())]);
  return one(picked(*x, std::move(dims), [&](const Shape& index) {
    Shape from(index.size());
    for (size_t d = 0; d < index.size(); ++d) from[*axis_of(perm[d], index.size())] = index[d];
    return from;
  }));
}

Outputs expand(KnownContext& c) {
  const auto x = input(c, 0);
  const auto target = numbers(c, 1, "shape", 0);
  if (!x || !target) return {};
  for (const int64_t d : *target) {
    if (d < 0 || d > static_cast<int64_t>(kMaxKnownElements)) return {};
  }
  const auto dims = broadcast(x->dims, *target);
  return dims ? one(spread(*x, *dims)) : Outputs{};
}

Outputs tile(KnownContext& c) {
  const auto x = input(c, 0);
  if (c.opset() < 6 || !x) return {};
  const auto times = numbers(c, 1, "repeats", 6);
  if (!times || times->size() != x->rank()) return {};
  Shape dims = x->dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if ((*times)[d] < 0 || (*times)[d] > static_cast<int64_t>(kMaxKnownElements)) return {};
    dims[d] *= (*times)[d];
  }
  return one(picked(*x, std::move(dims), [&](Shape index) {
    for (size_t d = 0; d < index.size(); ++d) index[d] %= x->dims[d];
    return index;
  }));
}

}  // namespace symtile::onnx_import::shape
