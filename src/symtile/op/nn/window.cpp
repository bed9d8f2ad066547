#include "symtile/op/nn/window.h"

#include <algorithm>

namespace symtile {

DimExpr Window::reach(int axis) const {
  const auto k = static_cast<size_t>(axis);
  return (kernel[k] - 1) * dilations[k] + 1;
}

DimExpr Window::extent(int axis, const DimExpr& in) const {
  const auto k = static_cast<size_t>(axis);
  const DimExpr stride = strides[k];
  const DimExpr room = in + begin[k] + end[k] - reach(axis);
  if (!ceil_mode) return floordiv(room, stride) + 1;
  // ceil(room / stride) + 1 windows, of which only those with start * stride < in + begin are
  // kept; both bounds are floor divisions by the same stride, so the smaller dividend decides.
  return floordiv(min(room + stride - 1, in + begin[k] - 1), stride) + 1;
}

Expr Window::start(int axis, const Expr& o) const {
  const auto k = static_cast<size_t>(axis);
  return o * Expr(strides[k]) - to_expr(begin[k]);
}

Expr Window::position(int axis, const Expr& o, const Expr& t) const {
  const auto k = static_cast<size_t>(axis);
  return o * Expr(strides[k]) + t * Expr(dilations[k]) - to_expr(begin[k]);
}

Expr Window::guard(int axis, const Expr& at, const DimExpr& in, const Facts& facts) const {
  const auto k = static_cast<size_t>(axis);
  Expr condition;
  if (!facts.proves_le(begin[k], 0)) condition = at >= Expr(0);
  // Without ceil_mode the last tap of the last window is at most in + end - 1.
  const bool inside =
      ceil_mode ? facts.proves_le((extent(axis, in) - 1) * strides[k] + reach(axis) - begin[k], in)
                : facts.proves_le(end[k], 0);
  if (!inside) condition = and_also(condition, at < to_expr(in));
  return condition;
}

Window window_from(const Attributes& attrs, Dims kernel) {
  Window w;
  const size_t n = kernel.size();
  w.kernel = std::move(kernel);
  w.strides = attrs.get_ints("strides", std::vector<int64_t>(n, 1));
  w.dilations = attrs.get_ints("dilations", std::vector<int64_t>(n, 1));
  w.ceil_mode = attrs.get_bool("ceil_mode", false);
  if (attrs.has("pads")) {
    const Dims& pads = attrs.get_dims("pads");
    w.begin = Dims(pads.begin(), pads.begin() + static_cast<int64_t>(n));
    w.end = Dims(pads.begin() + static_cast<int64_t>(n), pads.end());
  } else {
    w.begin = w.end = Dims(n, DimExpr(0));
  }
  return w;
}

std::vector<AttrSpec> window_attrs(std::vector<AttrSpec> more) {
  more.push_back({"strides", AttrSpec::Kind::integers});
  more.push_back({"dilations", AttrSpec::Kind::integers});
  more.push_back({"pads", AttrSpec::Kind::dims});
  return more;
}

void check_window(DeduceContext& c, int spatial) {
  const auto n = static_cast<size_t>(spatial);
  for (const char* name : {"strides", "dilations"}) {
    if (!c.attrs().has(name)) continue;
    const std::vector<int64_t> values = c.attrs().get_ints(name);
    if (values.size() != n) {
      c.fail(DiagId::bad_attribute, "{} has {} entries, but there are {} spatial axes", name,
             values.size(), n);
    }
    if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 1; })) {
      c.fail(DiagId::bad_attribute, "every entry of {} must be at least 1", name);
    }
  }
  if (c.attrs().has("pads") && c.attrs().get_dims("pads").size() != 2 * n) {
    c.fail(DiagId::bad_attribute, "pads has {} entries, but {} spatial axes need {}",
           c.attrs().get_dims("pads").size(), n, 2 * n);
  }
}

Dims window_extents(DeduceContext& c, const Window& w, const Dims& in) {
  Dims out;
  for (int axis = 0; axis < w.spatial(); ++axis) {
    const DimExpr& extent_in = in[static_cast<size_t>(axis) + 2];
    const DimExpr extent = c.facts().simplify(w.extent(axis, extent_in));
    if (!extent.is_unknown() && !c.facts().proves_le(0, extent)) {
      if (c.facts().proves_lt(extent, 0)) {
        c.fail(DiagId::shape_mismatch,
               "spatial axis {} has extent {}, too small for a window that reaches over {} "
               "(padding {} and {})",
               axis, extent_in.str(), w.reach(axis).str(), w.begin[static_cast<size_t>(axis)].str(),
               w.end[static_cast<size_t>(axis)].str());
      }
      c.checks.push_back({min(extent, 0), 0,
                          fmt::format("operator '{}': spatial axis {} is too small for its window",
                                      c.op(), axis)});
    }
    out.push_back(extent);
  }
  return out;
}

Expr and_also(const Expr& a, const Expr& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return a && b;
}

Expr guarded(const Expr& condition, const Expr& value, const Expr& otherwise) {
  return condition.defined() ? select(condition, value, otherwise) : value;
}

ConcreteWindow concrete_window(const EvalContext& c, const std::vector<int64_t>& kernel,
                               const std::vector<int64_t>& dims) {
  const size_t n = kernel.size();
  ConcreteWindow w;
  w.kernel = kernel;
  w.strides = c.attrs().get_ints("strides", std::vector<int64_t>(n, 1));
  w.dilations = c.attrs().get_ints("dilations", std::vector<int64_t>(n, 1));
  std::vector<int64_t> pads(2 * n, 0);
  if (c.attrs().has("pads")) pads = c.dims_attr("pads");
  w.in.assign(dims.begin() + 2, dims.end());
  for (size_t k = 0; k < n; ++k) {
    w.begin.push_back(pads[k]);
    w.end.push_back(pads[n + k]);
    const int64_t padded = w.in[k] + pads[k] + pads[n + k];
    // Counts the windows one by one, as the definition reads.
    int64_t count = 0;
    const int64_t reach = (kernel[k] - 1) * w.dilations[k] + 1;
    const bool ceil_mode = c.attrs().get_bool("ceil_mode", false);
    for (int64_t first = 0;; first += w.strides[k], ++count) {
      if (first + reach <= padded) continue;
      const bool cut_off = ceil_mode && first - w.strides[k] + reach < padded && count > 0 &&
                           first < w.in[k] + pads[k];
      const bool only = ceil_mode && count == 0 && first + reach - padded < w.strides[k] &&
                        first < w.in[k] + pads[k];
      if (!cut_off && !only) break;
    }
    w.out.push_back(count);
  }
  return w;
}

}  // namespace symtile
