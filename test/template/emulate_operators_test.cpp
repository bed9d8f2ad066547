// emulate_operators_test [OP]: every operator x its samples x shapes and special values, scheduled
// for GPUs of two sizes and for a CPU, run by the emulator: the results are the reference's, and no
// work-item races, diverges at a barrier, leaves its buffers or reads what nobody wrote.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "cases.h"
#include "symtile/interp/emulator.h"
#include "symtile/op/builder.h"
#include "symtile/schedule/gpu/launches.h"
#include "symtile/schedule/schedule.h"
#include "symtile/schedule/work.h"

namespace symtile::test {
namespace {

/// Operations that the emulator may spend on one shape: it is slow.
constexpr int64_t kMostWork = 150'000;
constexpr unsigned kWorkers = 2;

/// So small that tiles, warps and groups have edges everywhere.
const GpuTarget kTiny = {
    .name = "tiny", .lanes = 4, .max_threads = 8, .shared_bytes = 2048, .registers = 40};

struct Tally {
  int passed = 0, skipped = 0, failed = 0;
};

std::vector<TileFunction> schedules(const TileFunction& lowered) {
  std::vector<TileFunction> out = {schedule_for_gpu(lowered, kTiny),
                                   schedule_for_gpu(lowered, opencl_target()),
                                   schedule_for_cpu(lowered, cpu_target(CpuLevel::x86_64_v3))};
  for (TileFunction& f : out) {
    if (!gpu::is_gpu_kernel(f)) continue;  // vectorised CPU loops may have lengths that vary
    Module m;
    f.name = "kernel";
    m.add(f);
    verify(m);
    // What prints must parse: the schedule is a program like any other.
    if (!structurally_equal(parse_module(print(f)).tile("kernel"), f))
      throw std::runtime_error("its text parses to something else:\n" + print(f));
  }
  return out;
}

std::string check(const Case& c, const TileFunction& kernel, const DimValues& symbols,
                  const Reference& reference) {
  std::vector<const RefTensor*> inputs;
  for (size_t i = 0; i < reference.inputs.size(); ++i) {
    if (c.call.args[i].valid()) inputs.push_back(&reference.inputs[i]);
  }
  Emulation e = emulate_tile(kernel, symbols, inputs);
  if (!e.faults.empty()) return e.faults.front().str();
  for (size_t k = 0; k < e.outputs.size(); ++k) {
    e.outputs[k].dims = reference.outputs[k].dims;
    std::string why = difference(reference.outputs[k], e.outputs[k], c.sample.tolerance);
    if (!why.empty()) return why;
  }
  return "";
}

void check_case(const Case& c, Tally& tally, std::mutex& mutex) {
  const auto fail = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    fmt::print("FAILED {}\n", text);
    ++tally.failed;
  };
  try {
    const auto lowered =
        lower_call(c.call, c.sample.input_types, c.results, c.constants, c.facts, c.op->name);
    if (!lowered) return;
    const std::vector<TileFunction> kernels = schedules(*lowered);
    const DimExpr work = estimated_work(*lowered);
    for (const Variation& variation : variations_of(c)) {
      const auto reference =
          work.evaluate(variation.symbols) <= kMostWork ? evaluate(c, variation) : std::nullopt;
      for (const TileFunction& kernel : kernels) {
        if (!reference) {
          const std::lock_guard lock(mutex);
          ++tally.skipped;
          continue;
        }
        std::string why;
        try {
          why = check(c, kernel, variation.symbols, *reference);
        } catch (const std::exception& e) {
          why = e.what();
        }
        if (why.empty()) {
          const std::lock_guard lock(mutex);
          ++tally.passed;
        } else {
          fail(fmt::format("{} {}: {}\n{}", c.name(), variation.text(), why, print(kernel)));
          return;
        }
      }
    }
  } catch (const std::exception& e) {
    fail(fmt::format("{}: {}", c.name(), e.what()));
  }
}

int run(const std::string& only) {
  const std::vector<Case> cases = all_cases(only);
  if (cases.empty()) {
    fmt::print("FAILED: no operator '{}'\n", only);
    return 1;
  }
  Tally tally;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&] {
      for (size_t k = next++; k < cases.size(); k = next++) check_case(cases[k], tally, mutex);
    });
  }
  for (std::thread& w : workers) w.join();
  fmt::print("skipped are shapes that the operator refuses or that are too large to emulate\n");
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  try {
    return symtile::test::run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& e) {
    fmt::print("FAILED {}\n", e.what());
    return 1;
  }
}
