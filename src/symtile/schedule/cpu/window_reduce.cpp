#include "symtile/schedule/cpu/window_reduce.h"

#include <algorithm>

#include "symtile/schedule/cpu/window_code.h"

namespace symtile {
namespace {

/// Positions of a task.
constexpr int64_t kPositions = 1024;
/// Registers a task accumulates in.
constexpr int64_t kVectors = 4;
/// More taps are looped over.
constexpr int64_t kMostExpandedTaps = 64;

/// The reduction taken apart: `weight` is the factor that does not move with the outputs, undefined
/// without one.
struct WindowReduction {
  ReduceKind kind;
  SlidingWindow window;
  Expr weight;
  std::vector<Axis> batch;
};

struct Factors {
  Expr moving, weight;
};

/// Which factor of the reduction's body moves with the outputs; nullopt when both do.
std::optional<Factors> factors_of(const Expr& body, ReduceKind kind,
                                  const std::vector<Axis>& outs) {
  const auto* product = body.as<BinaryExpr>();
  if (kind == ReduceKind::sum && product && product->op == BinaryOp::mul) {
    const bool a = depends_on_any(product->a, outs), b = depends_on_any(product->b, outs);
    if (a && b) return std::nullopt;
    if (a || b) return a ? Factors{product->a, product->b} : Factors{product->b, product->a};
  }
  return Factors{body, Expr()};
}

std::optional<WindowReduction> match(const TileFunction& f, const ComputeForm& form) {
  if (form.stages.size() != 1 || !form.temporaries.empty()) return std::nullopt;
  const ComputeForm squeezed = squeeze_unit_axes(form);
  const ComputeStmt& indexed = squeezed.stages.front();
  const Expr indexed_sum = only_reduction(indexed.value);
  if (!indexed_sum.defined() || indexed.axes.empty()) return std::nullopt;
  const auto& reduce = *indexed_sum.as<ReduceExpr>();
  if (is_arg_reduction(reduce.kind) || has_reduction(reduce.body)) return std::nullopt;
  const LinearForm linear = linearize(f, form);
  const Expr linear_sum = only_reduction(linear.stages.front().value);
  if (!linear_sum.defined()) return std::nullopt;
  const Expr& linear_body = linear_sum.as<ReduceExpr>()->body;
  // As many of the last axes as slide together.
  const std::vector<Axis>& axes = indexed.axes;
  for (size_t first = 0; first < axes.size(); ++first) {
    const std::vector<Axis> outs(axes.begin() + static_cast<std::ptrdiff_t>(first), axes.end());
    const auto with_indices = factors_of(reduce.body, reduce.kind, outs);
    const auto flat = factors_of(linear_body, reduce.kind, outs);
    if (!with_indices || !flat) continue;
    if (outs.size() > 1 && !depends_on(with_indices->moving, outs.front().name)) continue;
    auto window =
        find_window(with_indices->moving, flat->moving, outs, reduce.axes, linear.facts, false);
    // The outermost axis must slide: others are better run in parallel.
    if (!window || window->axes.front().tap.empty()) continue;
    return WindowReduction{reduce.kind,
                           std::move(*window),
                           flat->weight,
                           {axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(first)}};
  }
  return std::nullopt;
}

class Template {
 public:
  Template(const TileFunction& f, const ComputeForm& form, WindowReduction r,
           const CpuTarget& target)
      : f_(f),
        linear_(linearize(f, form)),
        stage_(linear_.stages.front()),
        r_(std::move(r)),
        names_(f) {
    const Expr sum = only_reduction(stage_.value);
    type_ = sum.dtype();
    lanes_ = kVectors * std::max(target.lanes(size_of(type_)), 1);
    extent_ = f_.facts.simplify(r_.window.span());
    positions_ = kPositions;
    if (const auto n = extent_.as_const())
      positions_ = std::min(positions_, (std::max<int64_t>(*n, 1) + lanes_ - 1) / lanes_ * lanes_);
    span_ = f_.facts.simplify(r_.window.reach() + (positions_ + lanes_));
  }

  TileFunction build() {
    const std::string p = names_.fresh("p"), block_var = names_.fresh("nb");
    copy_ = {names_.fresh("copy"), type_, {span_ * r_.window.phases()}, Scope::scratch, {}};
    result_ = {names_.fresh("result"), type_, {DimExpr(positions_)}, Scope::scratch, {}};
    begin_ = names_.fresh("n0");
    count_ = names_.fresh("nlen");
    const OutputBody finish = [&](const std::map<std::string, Expr>& outputs,
                                  const Expr& position) {
      const Expr done = load(result_.name, type_, {position});
      const Expr marker = load("_sum", type_, {Expr(0)});
      Expr value =
          rewrite(stage_.value, [&](const Expr& e) { return e.as<ReduceExpr>() ? marker : e; });
      value = rewrite(substitute(value, outputs), [&](const Expr& e) {
        const auto* l = e.as<Load>();
        return l && l->buffer == "_sum" ? done : e;
      });
      return store(stage_.buffer, {substitute(linear_.store_index.at(stage_.buffer), outputs)},
                   value);
    };
    Stmt body = block(
        {reduce_channels(), for_each_output(r_.window, var(begin_), var(count_), names_, finish)});
    body = allocate(copy_, allocate(result_, std::move(body)));
    std::vector<Axis> tasks = r_.batch;
    const bool single = f_.facts.proves_le(extent_, positions_);
    if (!single) tasks.push_back({block_var, ceildiv(extent_, positions_)});
    const Expr first = single ? Expr(0) : var(block_var) * Expr(positions_);
    body =
        let_all({{begin_, first}, {count_, min(Expr(positions_), to_expr(extent_) - var(begin_))}},
                std::move(body));
    // One block of no positions is still a block.
    if (single && !f_.facts.proves_le(1, extent_))
      body = make_stmt(IfStmt{Expr(0) < to_expr(extent_), std::move(body), nullptr});
    return finish_schedule(f_, linear_, parallel_over(tasks, p, std::move(body)),
                           "window_reduction");
  }

 private:
  /// result[position] = the reduction, channel after channel.
  Stmt reduce_channels() {
    const std::string channel = names_.fresh("ch"), j = names_.fresh("j"),
                      last = names_.fresh("qlast");
    const Expr identity = identity_of(r_.kind, type_);
    const DimExpr channels = f_.facts.simplify(extent_of(r_.window.others));
    const auto coordinates = decode_axes(r_.window.others, var(channel));
    const Expr value = substitute(r_.window.operand, coordinates);
    const Expr lanes(lanes_);
    const Expr computed = floordiv(var(count_) + (lanes - Expr(1)), lanes) * lanes;
    Stmt copy = copy_window(r_.window, value, copy_.name, 0, span_, var(begin_), var(last),
                            f_.facts, names_);
    copy = let(last, var(begin_) + computed + to_expr(f_.facts.simplify(r_.window.reach())),
               std::move(copy));
    Buffer acc{names_.fresh("acc"), type_, {DimExpr(lanes_)}, Scope::local, {}};
    const auto lane_loop = [&](const std::function<Stmt(const Expr&)>& body) {
      const std::string x = names_.fresh("x");
      return for_loop(x, 0, Expr(lanes_), LoopKind::vectorized, body(var(x)));
    };
    Stmt zero = lane_loop([&](const Expr& x) { return store(acc.name, {x}, identity); });
    Stmt resume = lane_loop([&](const Expr& x) {
      return store(acc.name, {x}, load(result_.name, type_, {var(j) + x}));
    });
    Stmt start =
        channels.is_const(1) ? zero : make_stmt(IfStmt{equal(var(channel), 0), zero, resume});
    std::vector<Axis> taps;
    std::vector<Expr> tap;
    std::map<std::string, Expr> weight_at = coordinates;
    for (const WindowAxis& a : r_.window.axes) {
      const std::string t = names_.fresh("t");
      tap.push_back(a.taps == 1 ? Expr(0) : var(t));
      if (a.taps > 1) taps.push_back({t, a.taps});
      if (!a.tap.empty()) weight_at[a.tap] = tap.back();
    }
    Stmt step = lane_loop([&](const Expr& x) {
      Expr element = load(copy_.name, type_, {tap_distance(r_.window, tap, span_) + var(j) + x});
      if (r_.weight.defined()) element = element * substitute(r_.weight, weight_at);
      return store(acc.name, {x}, combine(r_.kind, load(acc.name, type_, {x}), element));
    });
    const LoopKind kind =
        r_.window.taps() <= kMostExpandedTaps ? LoopKind::unrolled : LoopKind::serial;
    for (size_t a = taps.size(); a-- > 0;)
      step = for_loop(taps[a].name, 0, to_expr(taps[a].extent), kind, std::move(step));
    Stmt keep = lane_loop([&](const Expr& x) {
      return store(result_.name, {var(j) + x}, load(acc.name, type_, {x}));
    });
    Stmt groups = for_loop(j, 0, var(count_), LoopKind::serial,
                           allocate(acc, block({start, step, keep})), lanes_);
    Stmt all = for_loop(channel, 0, to_expr(channels), LoopKind::serial, block({copy, groups}));
    if (f_.facts.proves_le(1, channels)) return all;
    // Over no channels at all the result is the neutral element.
    const std::string i = names_.fresh("i");
    return block(
        {for_loop(i, 0, var(count_), LoopKind::vectorized, store(result_.name, {var(i)}, identity)),
         all});
  }

  const TileFunction& f_;
  LinearForm linear_;
  ComputeStmt stage_;
  WindowReduction r_;
  NameSource names_;
  DType type_ = DType::f32;
  int64_t lanes_ = 1, positions_ = kPositions;
  DimExpr extent_, span_;
  Buffer copy_, result_;
  std::string begin_, count_;
};

}  // namespace

std::optional<TileFunction> schedule_window_reduction(const TileFunction& f,
                                                      const ComputeForm& form,
                                                      const CpuTarget& target) {
  auto r = match(f, form);
  if (!r) return std::nullopt;
  return Template(f, form, std::move(*r), target).build();
}

}  // namespace symtile
