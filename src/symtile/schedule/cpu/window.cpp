#include "symtile/schedule/cpu/window.h"

#include <algorithm>

namespace symtile {
namespace {

/// More taps would make offset tables that no cache holds.
constexpr int64_t kMaxTaps = 1024;

struct Slope {
  int64_t stride, dilation;
  friend bool operator==(const Slope&, const Slope&) = default;
};

/// The one slope with which all indices that depend on `out` and `tap` do so; nullopt when there
/// are several, or none.
std::optional<Slope> slope_of(const Expr& indexed, const std::string& out, const std::string& tap) {
  std::optional<Slope> found;
  for (const Load* l : loads_of(indexed)) {
    for (const Expr& i : l->indices) {
      if (!depends_on(i, tap)) continue;
      const auto index = to_dim_expr(i);
      const auto affine = index ? affine_form(*index, {out, tap}) : std::nullopt;
      if (!affine) return std::nullopt;
      const auto s = affine->coefficient(out).as_const(), d = affine->coefficient(tap).as_const();
      if (!s || !d || *s < 1 || *d < 1) return std::nullopt;
      if (found && *found != Slope{*s, *d}) return std::nullopt;
      found = Slope{*s, *d};
    }
  }
  return found;
}

/// `e` with every index polynomial in out and tap as one in `at`; nullopt where one does not depend
/// on s * out + d * tap alone.
class Slide {
 public:
  explicit Slide(const WindowAxis& axis) : axis_(axis) {}

  std::optional<Expr> apply(const Expr& e) {
    Expr out = walk(e);
    if (failed_) return std::nullopt;
    return out;
  }

 private:
  bool touches(const Expr& e) const {
    return depends_on(e, axis_.out) || (!axis_.tap.empty() && depends_on(e, axis_.tap));
  }

  Expr walk(const Expr& e) {
    if (failed_ || !touches(e)) return e;
    if (e.dtype() == DType::i64) {
      if (const auto index = to_dim_expr(e)) return polynomial(*index);
    }
    if (const auto* l = e.as<Load>()) {
      std::vector<Expr> indices;
      for (const Expr& i : l->indices) indices.push_back(walk(i));
      return load(l->buffer, l->dtype, std::move(indices));
    }
    if (const auto* u = e.as<UnaryExpr>()) return unary(u->op, walk(u->a));
    if (const auto* b = e.as<BinaryExpr>()) return binary(b->op, walk(b->a), walk(b->b));
    if (const auto* s = e.as<SelectExpr>())
      return select(walk(s->condition), walk(s->then_value), walk(s->else_value));
    if (const auto* c = e.as<CastExpr>()) return cast(c->dtype, walk(c->a));
    failed_ = true;
    return e;
  }

  Expr polynomial(const DimExpr& index) {
    std::set<std::string> vars{axis_.out};
    if (!axis_.tap.empty()) vars.insert(axis_.tap);
    const auto affine = affine_form(index, vars);
    if (!affine) return fail();
    const DimExpr of_out = affine->coefficient(axis_.out);
    const DimExpr slope = floordiv(of_out, axis_.stride);
    if (slope * axis_.stride != of_out) return fail();
    if (!axis_.tap.empty() && affine->coefficient(axis_.tap) != slope * axis_.dilation)
      return fail();
    return to_expr(affine->rest + slope * DimExpr::symbol(axis_.at));
  }

  Expr fail() {
    failed_ = true;
    return 0;
  }

  const WindowAxis& axis_;
  bool failed_ = false;
};

}  // namespace

int64_t SlidingWindow::taps() const {
  int64_t n = 1;
  for (const WindowAxis& a : axes) n *= a.taps;
  return n;
}

int64_t SlidingWindow::phases() const {
  int64_t n = 1;
  for (const WindowAxis& a : axes) n *= a.phases;
  return n;
}

DimExpr SlidingWindow::plane() const {
  DimExpr n = 1;
  for (const WindowAxis& a : axes) n *= a.extent();
  return n;
}

DimExpr SlidingWindow::pitch(size_t i) const {
  DimExpr n = 1;
  for (size_t k = i + 1; k < axes.size(); ++k) n *= axes[k].extent();
  return n;
}

DimExpr SlidingWindow::span() const {
  // Nothing at all when one of the extents is 0.
  DimExpr last = 0, any = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    last += (axes[i].outputs - 1) * pitch(i);
    any *= min(axes[i].outputs, 1);
  }
  return (last + 1) * any;
}

DimExpr SlidingWindow::reach() const {
  DimExpr n = 0;
  for (size_t i = 0; i < axes.size(); ++i) n += pitch(i) * axes[i].shift(axes[i].taps - 1);
  return n;
}

std::optional<SlidingWindow> find_window(const Expr& indexed, const Expr& linear,
                                         const std::vector<Axis>& outs,
                                         const std::vector<Axis>& reduced, const Facts& facts,
                                         bool overlapping) {
  SlidingWindow w;
  w.operand = linear;
  std::set<std::string> taps;
  bool overlaps = false;
  for (const Axis& out : outs) {
    WindowAxis axis;
    axis.out = out.name;
    axis.at = out.name + "_at";
    axis.outputs = out.extent;
    for (const Axis& t : reduced) {
      const auto slope = slope_of(indexed, out.name, t.name);
      if (!slope) continue;
      const auto extent = t.extent.as_const();
      if (!extent || *extent < 1 || !axis.tap.empty() || !taps.insert(t.name).second)
        return std::nullopt;
      axis.tap = t.name;
      axis.taps = *extent;
      axis.stride = slope->stride;
      axis.dilation = slope->dilation;
      for (int64_t k = 0; k < axis.taps; ++k)
        axis.phases = std::max(axis.phases, axis.dilation * k % axis.stride + 1);
      overlaps = overlaps || axis.shift(axis.taps - 1) > 0;
    }
    w.axes.push_back(std::move(axis));
  }
  if (taps.empty() || (overlapping && !overlaps) || w.taps() > kMaxTaps) return std::nullopt;
  // Taps last, in the order of the output axes: position k of the merged reduction is
  // (position among the others) * taps + tap.
  const size_t first = reduced.size() - taps.size();
  size_t next = first;
  for (const WindowAxis& a : w.axes) {
    if (!a.tap.empty() && reduced[next++].name != a.tap) return std::nullopt;
  }
  w.others.assign(reduced.begin(), reduced.begin() + static_cast<std::ptrdiff_t>(first));
  for (const WindowAxis& a : w.axes) {
    const auto slid = Slide(a).apply(w.operand);
    if (!slid) return std::nullopt;
    w.operand = *slid;
    // Another phase of the last position may lie beyond the last element that is read.
    if (a.stride > 1) {
      const DimExpr end = (a.outputs - 1) * a.stride + a.dilation * (a.taps - 1) + 1;
      w.operand =
          select(var(a.at) < to_expr(facts.simplify(end)), w.operand, imm(w.operand.dtype(), 0));
    }
  }
  return w;
}

}  // namespace symtile
