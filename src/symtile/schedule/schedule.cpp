#include "symtile/schedule/schedule.h"

#include <optional>
#include <span>

#include "symtile/base/check.h"
#include "symtile/schedule/cpu/attention.h"
#include "symtile/schedule/cpu/contraction.h"
#include "symtile/schedule/cpu/rows.h"
#include "symtile/schedule/cpu/softmax.h"
#include "symtile/schedule/cpu/sort.h"
#include "symtile/schedule/cpu/statements.h"
#include "symtile/schedule/cpu/window_reduce.h"
#include "symtile/schedule/gpu/attention.h"
#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/gpu/launches.h"
#include "symtile/schedule/gpu/rules.h"
#include "symtile/schedule/gpu/sort.h"
#include "symtile/transform/tile/results.h"
#include "symtile/transform/tile/sorting.h"

namespace symtile {
namespace {

/// A template claims a function by returning a schedule for it.
template <typename Target>
struct ScheduleTemplate {
  const char* name;
  std::optional<TileFunction> (*schedule)(const TileFunction&, const ComputeForm&, const Target&);
};

/// In order of preference; the last one takes everything.
constexpr ScheduleTemplate<CpuTarget> kCpuTemplates[] = {
    {"sort", schedule_sort},
    {"contraction", schedule_contraction},
    {"attention", schedule_attention},
    {"window_reduction", schedule_window_reduction},
    {"softmax", schedule_softmax},
    {"rows", [](const auto&... given) { return std::optional(schedule_rows(given...)); }},
};
constexpr ScheduleTemplate<GpuTarget> kGpuTemplates[] = {
    {"sort", gpu::schedule_sort},
    {"attention", gpu::schedule_attention},
    {"contraction", gpu::schedule_contraction},
    {"rules", [](const auto&... given) { return std::optional(gpu::schedule_rules(given...)); }},
};

struct Chosen {
  const char* name;
  TileFunction schedule;
};

template <typename Target>
Chosen choose(std::span<const ScheduleTemplate<Target>> templates, const TileFunction& f,
              const ComputeForm& form, const Target& target) {
  for (const ScheduleTemplate<Target>& t : templates) {
    if (auto schedule = t.schedule(f, form, target)) return {t.name, *std::move(schedule)};
  }
  SYMTILE_UNREACHABLE("no template takes '{}'", f.name);
}

/// Several results as one value, where they are one; the results of a sort are stages that the
/// template knows.
TileFunction as_one_result(const TileFunction& f) {
  const auto form = compute_form(f);
  if (form && match_sorting(*form)) return f;
  return join_results(f).value_or(f);
}

}  // namespace

TileFunction schedule_for_gpu(const TileFunction& several, const GpuTarget& target) {
  if (gpu::is_gpu_kernel(several)) return several;
  const TileFunction f = as_one_result(several);
  const auto form = compute_form(f);
  if (!form) return gpu::schedule_launches(f, target);
  return split_results(choose<GpuTarget>(kGpuTemplates, f, *form, target).schedule);
}

TileFunction schedule_for_cpu(const TileFunction& several, const CpuTarget& target) {
  const TileFunction f = as_one_result(several);
  const auto form = compute_form(f);
  if (!form) return schedule_statements(f);
  return split_results(choose<CpuTarget>(kCpuTemplates, f, *form, target).schedule);
}

std::string schedule_name(const TileFunction& several, const CpuTarget& target) {
  const TileFunction f = as_one_result(several);
  const auto form = compute_form(f);
  return form ? choose<CpuTarget>(kCpuTemplates, f, *form, target).name : "statements";
}

}  // namespace symtile
