// template_test [--device opencl] [FAMILY [SEED]]: every schedule template on random extents (0, 1,
// primes, symbolic), dtypes, layouts and fusions, three ways: compiled for this CPU, and in the
// emulator as a GPU of a random size and as a CPU, against the interpreter of the compute form.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "families.h"
#include "opencl_kernels.h"
#include "symtile/backend/llvm/kernel_runner.h"
#include "symtile/interp/emulator.h"
#include "symtile/interp/tile_interp.h"
#include "symtile/pipeline/pipeline.h"
#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/schedule.h"
#include "symtile/schedule/work.h"

namespace symtile::test {
namespace {

constexpr int kLeastCases = 500;  ///< of every family and backend
/// Programs that are compiled together, the shapes of each, and how many extents are symbols.
struct Plan {
  int group, shapes, symbolic;
};
constexpr Plan kOnCpu = {40, 4, 55};
constexpr Plan kOnOpencl = {14, 24, 90};
constexpr int64_t kMostWork = 60'000;
constexpr unsigned kWorkers = 2;

const GpuTarget kTiny = {
    .name = "tiny", .lanes = 4, .max_threads = 8, .shared_bytes = 2048, .registers = 40};
const GpuTarget kSmall = {
    .name = "small", .lanes = 8, .max_threads = 32, .shared_bytes = 8192, .registers = 64};

/// As small ones, with asynchronous copies; and with warps that matrix instructions need.
const GpuTarget kAsync = {.name = "async",
                          .lanes = 8,
                          .max_threads = 32,
                          .shared_bytes = 8192,
                          .registers = 64,
                          .has_async_copies = true};
const GpuTarget kMatrix = {.name = "matrix",
                           .lanes = 32,
                           .max_threads = 64,
                           .shared_bytes = 16384,
                           .registers = 32,  // PoCL is slow at fragments without instructions
                           .has_async_copies = true,
                           .has_matrix_multiply = true};

struct Kernel {
  unsigned seed = 0;
  TileFunction compute, cpu, gpu;
  std::vector<DimValues> shapes;
};

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

TileFunction schedule_with_any_tile(const TileFunction& f, bool halves, std::mt19937& random) {
  const unsigned which = random() % 8;
  const GpuTarget& target = halves       ? kMatrix
                            : which == 0 ? opencl_target()
                            : which < 3  ? kSmall
                            : which < 5  ? kAsync
                                         : kTiny;
  const auto form = compute_form(f);
  if (form && gpu::claims_contraction(f, *form) && random() % 2) {
    const auto tiles = gpu::contraction_tiles(f, *form, target);
    return gpu::schedule_contraction(f, *form, target, tiles[random() % tiles.size()]);
  }
  return schedule_for_gpu(f, target);
}

/// The kernels that the compiler makes of one random program.
std::vector<Kernel> kernels_of(const Family& family, unsigned seed, const Plan& plan) {
  Sketch sketch(seed, plan.symbolic);
  family.build(sketch);
  std::mt19937 random(seed);
  const std::vector<DimValues> shapes = sketch.values(plan.shapes);
  Module module = sketch.take();
  CompileOptions options;
  options.optimize = seed % 5 != 0;
  run_passes(module, options);
  std::vector<Kernel> out;
  for (const Binding& b : module.graph(Module::kMain).bindings) {
    const auto* call = std::get_if<TileCall>(&b.node);
    if (!call) continue;
    Kernel k{seed, module.tile(call->callee), {}, {}, {}};
    const bool known = std::any_of(out.begin(), out.end(), [&](const Kernel& other) {
      return same_kernel(other.compute, k.compute);
    });
    if (known) continue;
    for (const DimValues& shape : shapes) {
      DimValues values;
      for (size_t i = 0; i < k.compute.symbols.size(); ++i)
        values[k.compute.symbols[i]] = call->dims[i].evaluate(shape);
      if (std::find(k.shapes.begin(), k.shapes.end(), values) == k.shapes.end())
        k.shapes.push_back(std::move(values));
    }
    k.cpu = schedule_for_cpu(k.compute, cpu_target(native_cpu_level()));
    k.gpu = schedule_with_any_tile(k.compute, family.matrix, random);
    out.push_back(std::move(k));
  }
  return out;
}

/// `indices`: stand for the first or the last row; `words`: of packed weights, any bits.
RefTensor random_tensor(DType t, std::vector<int64_t> dims, bool indices, bool words,
                        std::mt19937& random) {
  RefTensor out(t, std::move(dims));
  for (int64_t i = 0; i < out.size(); ++i) {
    const auto r = static_cast<double>(random() % 33);
    if (words) {
      out.set_int(i, static_cast<int32_t>(random()));
    } else if (indices) {
      out.set(i, -static_cast<double>(random() % 2));
    } else if (is_float(t)) {
      out.set(i, (r - 16) / 8);
    } else {
      out.set(i, is_unsigned_int(t) ? r : r - 16);
    }
  }
  return out;
}

double tolerance_of(DType t) {
  switch (t) {
    case DType::f64:
      return 1e-9;
    case DType::f16:
      return 8e-3;
    case DType::bf16:
      return 6e-2;
    default:
      return 3e-4;
  }
}

std::string difference(const std::vector<RefTensor>& want, const std::vector<RefTensor>& got) {
  for (size_t k = 0; k < want.size(); ++k) {
    const RefTensor &x = want[k], &y = got[k];
    if (x.size() != y.size()) return fmt::format("result {} has {} elements", k, y.size());
    double scale = 1;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x.as_double(i))) scale = std::max(scale, std::abs(x.as_double(i)));
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const double a = x.as_double(i), b = y.as_double(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (x.is_float_kind() && std::abs(a - b) <= tolerance_of(x.dtype) * scale) continue;
      return fmt::format("element {} of result {} is {}, not {}", i, k, b, a);
    }
  }
  return "";
}

std::vector<int64_t> dims_of(const Buffer& b, const DimValues& shape) {
  std::vector<int64_t> out;
  for (const DimExpr& d : b.dims) out.push_back(d.evaluate(shape));
  return out;
}

std::vector<RefTensor> run_compiled(const codegen::KernelRunner& runner, size_t index,
                                    const Kernel& k, const DimValues& shape,
                                    const std::vector<RefTensor>& inputs) {
  std::vector<ConstantData> data;
  for (const RefTensor& t : inputs) data.push_back(*t.to_constant());
  for (const Buffer& b : k.compute.outputs)
    data.push_back(*RefTensor(b.dtype, dims_of(b, shape)).to_constant());
  std::vector<void*> pointers;
  for (ConstantData& d : data) {
    d.bytes.reserve(64);  // never null
    pointers.push_back(d.bytes.data());
  }
  std::vector<int64_t> symbols;
  for (const std::string& s : k.cpu.symbols) symbols.push_back(shape.at(s));
  runner.run(pointers, symbols, 2, index);
  std::vector<RefTensor> out;
  for (size_t i = inputs.size(); i < data.size(); ++i)
    out.push_back(RefTensor::from_constant(data[i]));
  return out;
}

class Run {
 public:
  Run(const Family& family, bool on_opencl)
      : family_(family), on_opencl_(on_opencl), plan_(on_opencl ? kOnOpencl : kOnCpu) {}

  /// Programs from `seed` on until there are enough cases, or that one alone.
  void run(unsigned seed, bool alone) {
    for (;;) {
      std::vector<Kernel> kernels;
      for (int i = 0; i < (alone ? 1 : plan_.group); ++i, ++seed) {
        try {
          for (Kernel& k : kernels_of(family_, seed, plan_)) {
            ++schedules_[k.gpu.attrs.get_text("schedule", "none")];
            kernels.push_back(std::move(k));
          }
        } catch (const std::exception& e) {
          fail(seed, "compiling", e.what());
        }
      }
      check(kernels);
      int cases = std::max(cpu_.passed, opencl_.passed);
      if (family_.schedule) cases = std::min(cases, by_schedule_[family_.schedule]);
      if (alone || cases >= kLeastCases || total().failed > 10) break;
    }
    std::string schedules;
    for (const auto& [name, count] : schedules_) schedules += fmt::format(" {} {}", count, name);
    fmt::print("{}: GPU schedules{}\n", family_.name, schedules);
    const auto show = [](const Counts& c) {
      return fmt::format("{} passed, {} failed", c.passed, c.failed);
    };
    fmt::print("{}: {}; {} shapes too large or refused\n", family_.name,
               on_opencl_ ? fmt::format("OpenCL {}", show(opencl_))
                          : fmt::format("compiled {}; emulated {}", show(cpu_), show(gpu_)),
               skipped_);
    std::fflush(stdout);
  }

  /// Passed cases of GPU kernels, by the schedule.
  const std::map<std::string, int>& by_schedule() const { return by_schedule_; }

  Counts total() const {
    return {cpu_.passed + gpu_.passed + opencl_.passed, cpu_.failed + gpu_.failed + opencl_.failed,
            skipped_};
  }

 private:
  void fail(unsigned seed, const std::string& where, const std::string& why) {
    const std::lock_guard lock(mutex_);
    fmt::print("FAILED {} {}, {}: {}\n", family_.name, seed, where, why);
    ++(where == "emulator" ? gpu_ : where == "OpenCL" ? opencl_ : cpu_).failed;
  }

  void check(const std::vector<Kernel>& kernels) {
    std::vector<TileFunction> scheduled;
    for (size_t i = 0; i < kernels.size(); ++i) {
      scheduled.push_back(on_opencl_ ? kernels[i].gpu : kernels[i].cpu);
      scheduled.back().name = fmt::format("kernel{}", i);
    }
    if (scheduled.empty()) return;
    if (on_opencl_) {
      OpenclKernels device(scheduled);
      for (size_t i = 0; i < kernels.size(); ++i) {
        check(kernels[i], i,
              [&](const DimValues& shape, const std::vector<RefTensor>& inputs,
                  const std::vector<RefTensor>& want) {
                expect(kernels[i], shape, "OpenCL", opencl_, kernels[i].gpu, [&] {
                  return difference(want, device.run(i, kernels[i].compute, shape, inputs));
                });
              });
      }
      return;
    }
    const codegen::KernelRunner runner(scheduled, native_cpu_level());
    std::atomic<size_t> next{0};
    std::vector<std::thread> workers;
    for (unsigned w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&] {
        for (size_t i = next++; i < kernels.size(); i = next++) {
          check(kernels[i], i,
                [&](const DimValues& shape, const std::vector<RefTensor>& inputs,
                    const std::vector<RefTensor>& want) {
                  check_here(kernels[i], runner, i, shape, inputs, want);
                });
        }
      });
    }
    for (std::thread& w : workers) w.join();
  }

  using Ways = std::function<void(const DimValues&, const std::vector<RefTensor>& inputs,
                                  const std::vector<RefTensor>& want)>;

  /// Calls `ways` for every shape.
  void check(const Kernel& k, size_t index, const Ways& ways) {
    std::mt19937 random(k.seed + static_cast<unsigned>(index));
    const DimExpr work = estimated_work(k.compute);
    // An index that stands for the first or the last row is in bounds whatever the extent.
    const bool packed = std::string(family_.name).ends_with("weights");
    const bool indexed = std::string(family_.name) == "statements";
    for (const DimValues& shape : k.shapes) {
      std::vector<RefTensor> inputs, want;
      try {
        for (const Buffer& b : k.compute.inputs) {
          const RefTensor t =
              random_tensor(b.dtype, dims_of(b, shape), indexed && b.dtype == DType::i64,
                            packed && b.dtype == DType::i32, random);
          inputs.push_back(RefTensor::from_constant(*t.to_constant()));
        }
        if (work.evaluate(shape) > kMostWork) throw std::runtime_error("too large");
        want = run_tile(k.compute, shape, pointers(inputs));
      } catch (const std::exception&) {
        const std::lock_guard lock(mutex_);
        ++skipped_;
        continue;
      }
      ways(shape, inputs, want);
    }
  }

  void check_here(const Kernel& k, const codegen::KernelRunner& runner, size_t index,
                  const DimValues& shape, const std::vector<RefTensor>& inputs,
                  const std::vector<RefTensor>& want) {
    expect(k, shape, "compiled", cpu_, k.cpu,
           [&] { return difference(want, run_compiled(runner, index, k, shape, inputs)); });
    expect(k, shape, "emulator", gpu_, k.gpu, [&] { return emulate(k.gpu, shape, inputs, want); });
    if ((k.seed + index) % 4 == 0) {
      expect(k, shape, "emulator", gpu_, k.cpu,
             [&] { return emulate(k.cpu, shape, inputs, want); });
    }
  }

  template <typename F>
  void expect(const Kernel& k, const DimValues& shape, const char* where, Counts& counts,
              const TileFunction& scheduled, F&& why_wrong) {
    std::string why;
    try {
      why = why_wrong();
    } catch (const std::exception& e) {
      why = e.what();
    }
    if (why.empty()) {
      const std::lock_guard lock(mutex_);
      ++counts.passed;
      if (&scheduled == &k.gpu) ++by_schedule_[k.gpu.attrs.get_text("schedule", "none")];
      return;
    }
    std::string text;
    for (const auto& [name, value] : shape) text += fmt::format("{}={} ", name, value);
    fail(k.seed, where, fmt::format("{}{}\n{}{}", text, why, print(k.compute), print(scheduled)));
  }

  static std::vector<const RefTensor*> pointers(const std::vector<RefTensor>& tensors) {
    std::vector<const RefTensor*> out;
    for (const RefTensor& t : tensors) out.push_back(&t);
    return out;
  }

  static std::string emulate(const TileFunction& f, const DimValues& shape,
                             const std::vector<RefTensor>& inputs,
                             const std::vector<RefTensor>& want) {
    const Emulation e = emulate_tile(f, shape, pointers(inputs));
    if (!e.faults.empty()) return e.faults.front().str();
    return difference(want, e.outputs);
  }

  const Family& family_;
  std::mutex mutex_;
  bool on_opencl_;
  Plan plan_;
  Counts cpu_, gpu_, opencl_;
  int skipped_ = 0;
  std::map<std::string, int> schedules_, by_schedule_;
};

int run(const std::string& only, std::optional<unsigned> seed, bool on_opencl) {
  if (on_opencl) {
    if (const std::string why = why_no_device("opencl"); !why.empty()) {
      fmt::print("skipped: {}\n0 passed, 0 failed, 1 skipped\n", why);
      return 77;
    }
  }
  Counts all;
  std::map<std::string, int> by_schedule;
  bool found = false;
  for (const Family& family : families()) {
    if (!only.empty() && only != family.name) continue;
    found = true;
    const auto start = std::chrono::steady_clock::now();
    Run r(family, on_opencl);
    r.run(seed.value_or(1), seed.has_value());
    const Counts c = r.total();
    for (const auto& [name, count] : r.by_schedule()) by_schedule[name] += count;
    all = {all.passed + c.passed, all.failed + c.failed, all.skipped + c.skipped};
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{}: {:.1f} s\n", family.name, seconds.count());
  }
  if (!found) {
    fmt::print("FAILED: no family '{}'\n", only);
    return 1;
  }
  for (const auto& [name, count] : by_schedule)
    fmt::print("GPU schedule {}: {} cases\n", name, count);
  fmt::print("{} passed, {} failed, {} skipped\n", all.passed, all.failed, all.skipped);
  return all.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  try {
    std::vector<std::string> args(argv + 1, argv + argc);
    const bool on_opencl = args.size() >= 2 && args[0] == "--device" && args[1] == "opencl";
    if (on_opencl) args.erase(args.begin(), args.begin() + 2);
    std::optional<unsigned> seed;
    if (args.size() > 1) seed = static_cast<unsigned>(std::stoul(args[1]));
    return symtile::test::run(args.empty() ? "" : args[0], seed, on_opencl);
  } catch (const std::exception& e) {
    fmt::print("FAILED {}\n", e.what());
    return 1;
  }
}
