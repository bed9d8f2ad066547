#include "symtile/schedule/cpu/rows.h"

#include <algorithm>

namespace symtile {
namespace {

/// Elements of one parallel chunk of a contiguous loop: large enough to pay for a dispatch.
constexpr int64_t kChunk = 4096;

/// The form with the first p axes named alike in all stages and dropped from the temporaries.
ComputeForm to_rows(ComputeForm form, size_t p) {
  const std::vector<Axis> prefix(form.stages.back().axes.begin(),
                                 form.stages.back().axes.begin() + static_cast<std::ptrdiff_t>(p));
  for (ComputeStmt& stage : form.stages) {
    std::map<std::string, Expr> rename;
    for (size_t i = 0; i < p; ++i) rename[stage.axes[i].name] = var(prefix[i].name);
    // Axis names of different stages may coincide: move the others away first.
    stage.value = substitute(stage.value, rename);
    for (size_t i = 0; i < p; ++i) stage.axes[i] = prefix[i];
    stage.value = rewrite(stage.value, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l || !is_temporary(form, l->buffer)) return e;
      return load(l->buffer, l->dtype,
                  {l->indices.begin() + static_cast<std::ptrdiff_t>(p), l->indices.end()});
    });
  }
  return form;
}

TileFunction schedule_single(const TileFunction& f, const LinearForm& linear,
                             const CpuTarget& target, NameSource& names) {
  const ComputeStmt& stage = linear.stages.front();
  StageEmitter emitter(linear, target, names);
  const StageEmitter::Split split = emitter.split(stage, stage.axes);
  const std::string p = names.fresh("p");
  if (split.inner.empty()) {
    return finish_schedule(f, linear, parallel_over(split.outer, p, emitter.emit_point(stage, {})),
                           "rows");
  }
  // The contiguous loop is cut into chunks, so that one long row still feeds all threads.
  const DimExpr inner = extent_of(split.inner);
  const int64_t chunk =
      has_reduction(stage.value) ? emitter.block_lanes(stage.value.dtype()) * 4 : kChunk;
  std::vector<Axis> outer = split.outer;
  const bool single = linear.facts.proves_le(inner, chunk);
  const std::string c = names.fresh("c");
  if (!single) outer.push_back({c, ceildiv(inner, chunk)});
  const Expr begin = single ? Expr(0) : var(c) * Expr(chunk);
  const Expr end = single ? to_expr(inner) : min(to_expr(inner), begin + Expr(chunk));
  return finish_schedule(
      f, linear, parallel_over(outer, p, emitter.emit_range(stage, split.inner, begin, end)),
      "rows");
}

}  // namespace

TileFunction schedule_rows(const TileFunction& f, const ComputeForm& original,
                           const CpuTarget& target) {
  NameSource names(f);
  ComputeForm form = original;
  if (form.stages.size() == 1 && form.temporaries.empty())
    return schedule_single(f, linearize(f, form), target, names);
  make_axes_distinct(form, names);
  const size_t p = shared_prefix(form, f.facts);
  form = to_rows(std::move(form), p);
  // Temporaries lose their row dimensions.
  for (Buffer& b : form.temporaries) {
    b.dims.erase(b.dims.begin(), b.dims.begin() + static_cast<std::ptrdiff_t>(p));
    b.scope = Scope::scratch;
  }
  const std::vector<Axis> prefix(form.stages.back().axes.begin(),
                                 form.stages.back().axes.begin() + static_cast<std::ptrdiff_t>(p));
  // A stage that writes a temporary addresses it without the row axes.
  std::vector<std::vector<Axis>> inner;
  for (ComputeStmt& stage : form.stages) {
    inner.emplace_back(stage.axes.begin() + static_cast<std::ptrdiff_t>(p), stage.axes.end());
    if (is_temporary(form, stage.buffer))
      stage.axes.erase(stage.axes.begin(), stage.axes.begin() + static_cast<std::ptrdiff_t>(p));
  }
  LinearForm linear = linearize(f, form);
  add_axis_facts(linear.facts, prefix);
  StageEmitter emitter(linear, target, names);
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < linear.stages.size(); ++i)
    stmts.push_back(emitter.emit(linear.stages[i], inner[i]));
  Stmt body = block(std::move(stmts));
  for (auto it = linear.temporaries.rbegin(); it != linear.temporaries.rend(); ++it)
    body = allocate(*it, std::move(body));
  return finish_schedule(f, linear, parallel_over(prefix, names.fresh("p"), std::move(body)),
                         "rows");
}

}  // namespace symtile
