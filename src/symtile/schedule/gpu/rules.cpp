#include "symtile/schedule/gpu/rules.h"

#include <algorithm>

#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/gpu/launches.h"
#include "symtile/schedule/gpu/rows.h"

namespace symtile::gpu {
namespace {

Stage stage_of(const LinearForm& linear, size_t i) {
  const ComputeStmt& s = linear.stages[i];
  return {s.buffer, {linear.store_index.at(s.buffer)}, s.axes, s.value};
}

/// Stage `i` as a function of its own: what other stages write is an input.
TileFunction alone(const TileFunction& f, const ComputeForm& form, size_t i) {
  const ComputeStmt& stage = form.stages[i];
  TileFunction out = f;
  out.outputs.clear();
  for (const auto* list : {&f.outputs, &form.temporaries}) {
    for (const Buffer& b : *list) (b.name == stage.buffer ? out.outputs : out.inputs).push_back(b);
  }
  out.body = make_stmt(stage);
  return out;
}

/// True when the stage is a heavy sum of products.
bool is_product(const TileFunction& f, const ComputeStmt& stage) {
  return claims_contraction(f, ComputeForm{{}, {stage}});
}

/// True when a stage reads a result that another one writes: blocks would have to wait for blocks.
bool reads_results(const TileFunction& f, const ComputeForm& form) {
  for (const ComputeStmt& stage : form.stages) {
    for (const Load* l : loads_of(stage.value)) {
      for (const Buffer& out : f.outputs) {
        if (l->buffer == out.name) return true;
      }
    }
  }
  return false;
}

/// The first p axes are the rows: named alike in all stages, and dropped from the temporaries.
Stmt by_rows(const TileFunction& f, ComputeForm form, size_t p, const GpuTarget& target,
             NameSource& names) {
  const auto cut = static_cast<std::ptrdiff_t>(p);
  RowProgram program;
  program.rows.assign(form.stages.back().axes.begin(), form.stages.back().axes.begin() + cut);
  std::vector<std::vector<Axis>> inner;
  for (ComputeStmt& stage : form.stages) {
    std::map<std::string, Expr> rename;
    for (size_t i = 0; i < p; ++i) rename[stage.axes[i].name] = var(program.rows[i].name);
    stage.value = rewrite(substitute(stage.value, rename), [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l || !is_temporary(form, l->buffer)) return e;
      return load(l->buffer, l->dtype, {l->indices.begin() + cut, l->indices.end()});
    });
    for (size_t i = 0; i < p; ++i) stage.axes[i] = program.rows[i];
    inner.emplace_back(stage.axes.begin() + cut, stage.axes.end());
    if (is_temporary(form, stage.buffer))
      stage.axes.erase(stage.axes.begin(), stage.axes.begin() + cut);
  }
  for (Buffer& b : form.temporaries) b.dims.erase(b.dims.begin(), b.dims.begin() + cut);
  const LinearForm linear = linearize(f, form);
  program.facts = linear.facts;
  add_axis_facts(program.facts, program.rows);
  for (size_t i = 0; i < linear.stages.size(); ++i) {
    Stage stage = stage_of(linear, i);
    stage.axes = std::move(inner[i]);
    std::erase_if(stage.axes, [](const Axis& a) { return a.extent.is_const(1); });
    program.stages.push_back(std::move(stage));
  }
  program.temporaries = linear.temporaries;
  RowLaunch out = row_launch(program, target, names);
  return with_workspace(out.workspace, std::move(out.launch));
}

}  // namespace

TileFunction schedule_rules(const TileFunction& f, const ComputeForm& original,
                            const GpuTarget& target) {
  NameSource names(f);
  ComputeForm form = original;
  const LinearForm linear = linearize(f, form);
  const bool several = form.stages.size() > 1;
  const auto product = [&](const ComputeStmt& stage) { return is_product(f, stage); };
  // Products are worth a launch of their own: rows would do them one element at a time.
  if (several && std::none_of(form.stages.begin(), form.stages.end(), product)) {
    make_axes_distinct(form, names);
    if (const size_t p = shared_prefix(form, f.facts); p > 0 && !reads_results(f, form))
      return finish_schedule(f, linear, by_rows(f, form, p, target, names), "rows");
  }
  const char* name = several ? "launches" : "contraction";
  std::vector<Stmt> launches;
  for (size_t i = 0; i < linear.stages.size(); ++i) {
    if (const auto alone_scheduled = schedule_contraction(
            alone(f, original, i), ComputeForm{{}, {original.stages[i]}}, target)) {
      launches.push_back(alone_scheduled->body);
    } else {
      StageLaunch one = stage_launch(stage_of(linear, i), linear.facts, target, names);
      launches.push_back(std::move(one.launch));
      if (!several) name = one.schedule;
    }
  }
  return finish_schedule(f, linear, with_workspace(linear.temporaries, block(std::move(launches))),
                         name);
}

}  // namespace symtile::gpu
