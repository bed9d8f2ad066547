#include "symtile/schedule/cpu/window_code.h"

namespace symtile {

Stmt copy_window(const SlidingWindow& w, const Expr& value, const std::string& buffer,
                 const Expr& base, const DimExpr& span, const Expr& begin, const Expr& end,
                 const Facts& facts, NameSource& names) {
  const std::string q = names.fresh("q"), rest = names.fresh("rest"), phase = names.fresh("phase"),
                    from = names.fresh("from"), stop = names.fresh("qend");
  // u = stride * position + phase on every axis.
  std::vector<Axis> plane, phases;
  for (const WindowAxis& a : w.axes) {
    plane.push_back({names.fresh(a.out), a.extent()});
    phases.push_back({names.fresh("ph"), a.phases});
  }
  const auto positions = decode_axes(plane, var(q)), offsets = decode_axes(phases, var(phase));
  std::map<std::string, Expr> at;
  for (size_t a = 0; a < w.axes.size(); ++a) {
    const Expr offset = w.axes[a].phases == 1 ? Expr(0) : offsets.at(phases[a].name);
    at[w.axes[a].at] = positions.at(plane[a].name) * Expr(w.axes[a].stride) + offset;
  }
  Stmt copy = for_loop(q, begin, var(stop), LoopKind::vectorized,
                       store(buffer, {var(from) + var(q)}, substitute(value, at)));
  Stmt zeros = for_loop(rest, var(stop), end, LoopKind::vectorized,
                        store(buffer, {var(from) + var(rest)}, imm(value.dtype(), 0)));
  Stmt body = let(from, base + var(phase) * to_expr(span) - begin, block({copy, zeros}));
  body = for_loop(phase, 0, Expr(w.phases()), LoopKind::serial, std::move(body));
  return let(stop, min(end, to_expr(facts.simplify(w.plane()))), std::move(body));
}

Expr tap_distance(const SlidingWindow& w, const std::vector<Expr>& tap, const DimExpr& span) {
  Expr phase = 0, shift = 0;
  for (size_t a = 0; a < w.axes.size(); ++a) {
    const Expr reach = w.axes[a].taps == 1 ? Expr(0) : tap[a] * Expr(w.axes[a].dilation);
    phase = phase * Expr(w.axes[a].phases) + floormod(reach, Expr(w.axes[a].stride));
    shift = shift + floordiv(reach, Expr(w.axes[a].stride)) * to_expr(w.pitch(a));
  }
  return phase * to_expr(span) + shift;
}

Stmt for_each_output(const SlidingWindow& w, const Expr& begin, const Expr& count,
                     NameSource& names, const OutputBody& body) {
  const std::string x = names.fresh("x"), row = names.fresh("row"), place = names.fresh("place");
  const Expr width = to_expr(w.axes.back().extent());
  std::vector<Axis> outer;
  for (size_t a = 0; a + 1 < w.axes.size(); ++a)
    outer.push_back({names.fresh(w.axes[a].out), w.axes[a].extent()});
  std::map<std::string, Expr> outputs{{w.axes.back().out, var(x)}};
  std::vector<std::pair<std::string, Expr>> lets{{place, var(row) * width - begin}};
  Expr inside;
  for (const auto& [name, value] : decode_axes(outer, var(row))) lets.emplace_back(name, value);
  for (size_t a = 0; a < outer.size(); ++a) {
    outputs[w.axes[a].out] = var(outer[a].name);
    if (a == 0) continue;  // the span ends with the last row of the outermost axis
    const Expr in = var(outer[a].name) < to_expr(w.axes[a].outputs);
    inside = inside.defined() ? inside && in : in;
  }
  Stmt lanes = for_loop(x, max(Expr(0), Expr(0) - var(place)),
                        min(to_expr(w.axes.back().outputs), count - var(place)),
                        LoopKind::vectorized, body(outputs, var(place) + var(x)));
  if (inside.defined()) lanes = make_stmt(IfStmt{inside, std::move(lanes), nullptr});
  return for_loop(row, floordiv(begin, width), floordiv(begin + count - Expr(1), width) + Expr(1),
                  LoopKind::serial, let_all(lets, std::move(lanes)));
}

}  // namespace symtile
