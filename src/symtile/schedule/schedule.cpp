#include "symtile/schedule/schedule.h"

#include "symtile/base/check.h"
#include "symtile/schedule/cpu/contraction.h"
#include "symtile/schedule/cpu/rows.h"
#include "symtile/schedule/cpu/statements.h"

namespace symtile {
namespace {

/// A template claims a function by returning a schedule for it.
struct ScheduleTemplate {
  const char* name;
  bool (*claims)(const TileFunction&, const ComputeForm&);
  TileFunction (*schedule)(const TileFunction&, const ComputeForm&, const CpuTarget&);
};

/// In order of preference; the last one takes everything.
constexpr ScheduleTemplate kTemplates[] = {
    {"contraction",
     [](const TileFunction& f, const ComputeForm& form) {
       return match_contraction(squeeze_unit_axes(form), f.facts).has_value();
     },
     schedule_contraction},
    {"rows", [](const TileFunction&, const ComputeForm&) { return true; }, schedule_rows},
};

/// A stage beside loops (scatter: copy, then write) becomes a plain loop nest where it stands.
Stmt plain_loops(const ComputeStmt& stage) {
  std::vector<Expr> indices;
  for (const Axis& a : stage.axes) indices.push_back(var(a.name));
  Stmt out = store(stage.buffer, std::move(indices), stage.value);
  bool innermost = !has_reduction(stage.value);
  for (auto a = stage.axes.rbegin(); a != stage.axes.rend(); ++a) {
    const LoopKind kind = innermost ? LoopKind::vectorized : LoopKind::serial;
    out = for_loop(a->name, 0, to_expr(a->extent), kind, std::move(out));
    innermost = false;
  }
  return out;
}

TileFunction schedule_mixed(TileFunction f) {
  f.body = rewrite(
      f.body,
      [](const Stmt& s) {
        const auto* stage = as<ComputeStmt>(s);
        return stage ? plain_loops(*stage) : s;
      },
      nullptr);
  return f;
}

}  // namespace

TileFunction schedule_for_cpu(const TileFunction& f, const CpuTarget& target) {
  const auto form = compute_form(f);
  if (!form) return schedule_statements(f);
  for (const ScheduleTemplate& t : kTemplates) {
    if (t.claims(f, *form)) return t.schedule(f, *form, target);
  }
  SYMTILE_UNREACHABLE();
}

std::string schedule_name(const TileFunction& f, const CpuTarget&) {
  const auto form = compute_form(f);
  if (!form) return "statements";
  for (const ScheduleTemplate& t : kTemplates) {
    if (t.claims(f, *form)) return t.name;
  }
  SYMTILE_UNREACHABLE();
}

}  // namespace symtile
