#include "symtile/schedule/schedule.h"

#include "symtile/base/check.h"
#include "symtile/schedule/cpu/attention.h"
#include "symtile/schedule/cpu/contraction.h"
#include "symtile/schedule/cpu/rows.h"
#include "symtile/schedule/cpu/softmax.h"
#include "symtile/schedule/cpu/statements.h"
#include "symtile/schedule/cpu/window_reduce.h"
#include "symtile/schedule/gpu/attention.h"
#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/gpu/launches.h"
#include "symtile/schedule/gpu/rules.h"

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
    {"attention", claims_attention, schedule_attention},
    {"window_reduction", is_window_reduction, schedule_window_reduction},
    {"softmax", claims_softmax, schedule_softmax},
    {"rows", [](const TileFunction&, const ComputeForm&) { return true; }, schedule_rows},
};

struct GpuTemplate {
  const char* name;
  bool (*claims)(const TileFunction&, const ComputeForm&, const GpuTarget&);
  TileFunction (*schedule)(const TileFunction&, const ComputeForm&, const GpuTarget&);
};
constexpr GpuTemplate kGpuTemplates[] = {
    {"attention", gpu::claims_attention, gpu::schedule_attention},
    {"contraction",
     [](const TileFunction& f, const ComputeForm& form, const GpuTarget&) {
       return gpu::claims_contraction(f, form);
     },
     gpu::schedule_contraction},
    {"rules", [](const TileFunction&, const ComputeForm&, const GpuTarget&) { return true; },
     gpu::schedule_rules},
};

}  // namespace

TileFunction schedule_for_gpu(const TileFunction& f, const GpuTarget& target) {
  if (gpu::is_gpu_kernel(f)) return f;
  const auto form = compute_form(f);
  if (!form) return gpu::schedule_launches(f, target);
  for (const GpuTemplate& t : kGpuTemplates) {
    if (t.claims(f, *form, target)) return t.schedule(f, *form, target);
  }
  SYMTILE_UNREACHABLE();
}

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
