// conform_test [--device opencl] [OP]: every operator x its samples x shapes (0, 1, odd, prime,
// large) and special values, four ways: the lowered kernel interpreted, its schedule for every CPU
// level interpreted (with every access checked), and the compiled artifact, optimised and not,
// against the reference meaning. With a device only the last, there. Exit code 77: the machine has
// no such device.
#include "symtile/driver/conform.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "compiled.h"
#include "symtile/interp/tile_interp.h"
#include "symtile/op/builder.h"
#include "symtile/schedule/schedule.h"

namespace symtile::test {
namespace {

constexpr CpuLevel kLevels[] = {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4,
                                CpuLevel::x86_64_v4_vnni, CpuLevel::armv8};
constexpr unsigned kWorkers = 2;

struct Way {
  std::string name;
  TileFunction kernel;
};

/// The lowered kernel and its schedules; those of one form are looked at once.
std::vector<Way> ways_of(const Case& c) {
  std::vector<Way> out;
  auto lowered =
      lower_call(c.call, c.sample.input_types, c.results, c.constants, c.facts, c.op->name);
  if (!lowered) return out;
  for (const CpuLevel level : kLevels) {
    Way way{fmt::format("scheduled for {}", name_of(level)),
            schedule_for_cpu(*lowered, cpu_target(level))};
    const bool known = structurally_equal(way.kernel, *lowered) ||
                       std::any_of(out.begin(), out.end(), [&](const Way& w) {
                         return structurally_equal(w.kernel, way.kernel);
                       });
    if (!known) out.push_back(std::move(way));
  }
  out.insert(out.begin(), {"lowered", std::move(*lowered)});
  return out;
}

std::string check_way(const Case& c, const Way& way, const DimValues& symbols,
                      const Reference& reference) {
  std::vector<const RefTensor*> inputs;
  for (size_t i = 0; i < reference.inputs.size(); ++i) {
    if (c.call.args[i].valid()) inputs.push_back(&reference.inputs[i]);
  }
  std::vector<std::vector<int64_t>> dims;
  for (const RefTensor& t : reference.outputs) dims.push_back(t.dims);
  const std::vector<RefTensor> results = run_tile(way.kernel, symbols, inputs, dims);
  for (size_t k = 0; k < results.size(); ++k) {
    std::string why = difference(reference.outputs[k], results[k], c.sample.tolerance);
    if (!why.empty()) return why;
  }
  return "";
}

Tally check_kernels(const Case& c) {
  Tally tally;
  try {
    const std::vector<Way> ways = ways_of(c);
    for (const Variation& variation : variations_of(c)) {
      const auto reference = evaluate(c, variation);
      if (!reference) {
        tally.skipped += static_cast<int>(ways.size());
        continue;
      }
      for (const Way& way : ways) {
        std::string why;
        try {
          why = check_way(c, way, variation.symbols, *reference);
        } catch (const std::exception& e) {
          why = e.what();
        }
        if (why.empty()) {
          ++tally.passed;
        } else {
          tally.failures.push_back(
              fmt::format("{}, {} {}: {}", way.name, c.name(), variation.text(), why));
        }
      }
    }
  } catch (const std::exception& e) {
    tally.failures.push_back(fmt::format("{}: {}", c.name(), e.what()));
  }
  return tally;
}

Tally check_all_kernels(const std::vector<Case>& cases) {
  Tally tally;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&] {
      for (size_t k = next++; k < cases.size(); k = next++) {
        Tally one = check_kernels(cases[k]);
        const std::lock_guard lock(mutex);
        tally.merge(std::move(one));
      }
    });
  }
  for (std::thread& w : workers) w.join();
  return tally;
}

int run(const std::string& only, const std::string& device) {
  const auto start = std::chrono::steady_clock::now();
  const auto report = [&](const char* what, const Tally& t) {
    for (const std::string& failure : t.failures) fmt::print("FAILED {}\n", failure);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{}: {} passed, {} failed, {} skipped after {:.0f} s\n", what, t.passed,
               t.failures.size(), t.skipped, seconds.count());
    std::fflush(stdout);
  };
  const std::vector<Case> cases = all_cases(only);
  if (cases.empty()) {
    fmt::print("FAILED: no operator '{}'\n", only);
    return 1;
  }
  // Child processes come first: this one must have no threads when it forks.
  Tally all;
  for (const bool optimize : {true, false}) {
    Tally t = check_compiled(cases, optimize, device);
    report(optimize ? "compiled" : "compiled without optimisation", t);
    all.merge(std::move(t));
    if (device != "cpu") break;  // what passes do is seen on the processor
  }
  if (device == "cpu") {
    Tally kernels = check_all_kernels(cases);
    report("kernels", kernels);
    all.merge(std::move(kernels));
  }
  fmt::print("{} passed, {} failed, {} skipped\n", all.passed, all.failures.size(), all.skipped);
  return all.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  try {
    std::string device = "cpu", only;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--device" && i + 1 < argc) {
        device = argv[++i];
      } else {
        only = argument;
      }
    }
    if (device != "cpu") {
      const std::string reason = symtile::why_no_device_in_child(device);
      if (!reason.empty()) {
        fmt::print("SKIP: {}\n", reason);
        return 77;
      }
    }
    return symtile::test::run(only, device);
  } catch (const std::exception& e) {
    fmt::print("FAILED {}\n", e.what());
    return 1;
  }
}
