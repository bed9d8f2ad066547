#include "symtile/driver/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace symtile {
namespace {

using Clock = std::chrono::steady_clock;

double ms_of(api::Session& session, const std::vector<api::Input>& inputs) {
  const auto start = Clock::now();
  session.run(inputs);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The smallest value that `share` of the sorted values do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto n = static_cast<double>(sorted.size());
  const auto at = static_cast<size_t>(std::max(0.0, std::ceil(share * n) - 1));
  return sorted[std::min(at, sorted.size() - 1)];
}

double median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

std::vector<KernelTime> profile(api::Session& session, const std::vector<api::Input>& inputs,
                                int runs) {
  symtile_session_set_profiling(session.get(), 1);
  for (int i = 0; i < runs; ++i) session.run(inputs);
  std::vector<KernelTime> out;
  for (size_t i = 0; i < symtile_session_profile_count(session.get()); ++i) {
    symtile_profile_entry entry{};
    api::detail::call(
        [&](symtile_error** e) { return symtile_session_profile(session.get(), i, &entry, e); });
    if (entry.calls == 0) continue;
    out.push_back({entry.name, static_cast<double>(entry.calls) / runs,
                   static_cast<double>(entry.nanoseconds) / 1e6 / runs});
  }
  symtile_session_set_profiling(session.get(), 0);
  std::stable_sort(out.begin(), out.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.ms > b.ms; });
  return out;
}

}  // namespace

BenchResult bench(const api::Model& model, const RunInputs& inputs, const BenchOptions& options) {
  std::vector<api::Input> arguments;
  for (const Constant& c : inputs.values) {
    arguments.push_back({c->bytes.data(), c->dims, static_cast<symtile_dtype>(c->dtype)});
  }
  api::Session session(model, options.threads, false, options.device.c_str());
  BenchResult out;
  out.threads = symtile_session_threads(session.get());
  out.constant_bytes = model.constant_bytes();
  out.arena_bytes = model.arena_bytes({inputs.symbols.begin(), inputs.symbols.end()});

  const double first = ms_of(session, arguments);
  const int warm_up = std::clamp(static_cast<int>(200 / (first + 1e-3)), 2, 20);
  double warm = first;
  for (int i = 0; i < warm_up; ++i) warm = ms_of(session, arguments);
  out.runs = options.runs > 0 ? options.runs
                              : std::clamp(static_cast<int>(1000 / (warm + 1e-3)), 10, 1000);
  std::vector<double> times;
  for (int i = 0; i < out.runs; ++i) times.push_back(ms_of(session, arguments));
  std::sort(times.begin(), times.end());
  out.min_ms = times.front();
  out.median_ms = median(times);
  out.held_bytes = static_cast<int64_t>(symtile_session_held_bytes(session.get()));
  out.p90_ms = quantile(times, 0.9);
  out.kernels = profile(session, arguments, std::clamp(out.runs / 4, 1, 20));
  return out;
}

}  // namespace symtile
