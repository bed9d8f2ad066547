// prop_test [FIRST [COUNT]]: properties of the passes on seeded random graphs with symbolic shapes.
//
//   the module prints, and its text parses to an equal module, before and after every pass;
//   it verifies after every pass;
//   the interpreter gets the same from it, at every shape: 0, 1, primes;
//   so does it when every kernel is replaced by its schedule, for every CPU level;
//   the memory plan never puts two values that are alive in one place;
//   and (for some seeds) so does the compiled artifact.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "memory_check.h"
#include "random_graph.h"
#include "symtile/driver/driver.h"
#include "symtile/format/artifact.h"
#include "symtile/interp/interpreter.h"
#include "symtile/schedule/schedule.h"
#include "symtile/transform/passes.h"

namespace symtile::test {
namespace {

constexpr double kTolerance = 2e-4;
constexpr unsigned kDefaultCount = 240;
constexpr unsigned kCompiledEvery = 4;  ///< code generation is slow
constexpr CpuLevel kLevels[] = {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4,
                                CpuLevel::x86_64_v4_vnni, CpuLevel::armv8};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string shape_text(const DimValues& shape) {
  std::string out;
  for (const auto& [name, value] : shape) out += fmt::format(" {}={}", name, value);
  return out;
}

void compare(const std::string& what, const std::vector<RefTensor>& expected,
             const std::vector<RefTensor>& actual) {
  if (expected.size() != actual.size()) throw Failure(what + ": another number of results");
  for (size_t k = 0; k < expected.size(); ++k) {
    const RefTensor &x = expected[k], &y = actual[k];
    if (x.dims != y.dims || x.dtype != y.dtype) {
      throw Failure(fmt::format("{}: result {} has shape ({}), not ({})", what, k,
                                fmt::join(y.dims, ", "), fmt::join(x.dims, ", ")));
    }
    double scale = 1;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x.as_double(i))) scale = std::max(scale, std::abs(x.as_double(i)));
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const double a = x.as_double(i), b = y.as_double(i);
      const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                        (x.is_float_kind() && std::abs(a - b) <= kTolerance * scale);
      if (!same)
        throw Failure(fmt::format("{}: element {} of result {} is {}, not {}", what, i, k, b, a));
    }
  }
}

/// One random program, its inputs, and what it computes.
class Program {
 public:
  explicit Program(unsigned seed) : graph_(seed), module_(graph_.module()), seed_(seed) {}

  void check() {
    check_text("as built");
    check_module("as built");
    for (DimValues& shape : graph_.shapes()) {
      inputs_.push_back(graph_.inputs(shape));
      expected_.push_back(Interpreter(module_).run(inputs_.back()));
      shapes_.push_back(std::move(shape));
    }
    const Module original = module_;
    for (const std::string& name : pass_order(true)) {
      const std::string before = print(module_);
      try {
        PassContext context;
        find_pass(name)->run(module_, context);
        check_module("after " + name);
        check_text("after " + name);
        check_results("after " + name, module_);
      } catch (const std::exception& e) {
        throw Failure(fmt::format("{}\n---- before {}\n{}\n---- after\n{}", e.what(), name, before,
                                  print(module_)));
      }
    }
    check_plan();
    for (const CpuLevel level : kLevels) check_schedules(cpu_target(level));
    if (seed_ % kCompiledEvery == 0) check_compiled(original);
  }

 private:
  void check_text(const std::string& when) {
    const std::string text = print(module_);
    const Module parsed = parse_module(text);
    if (!structurally_equal(parsed, module_))
      throw Failure(when + ": the text parses to another module");
    if (print(parsed) != text) throw Failure(when + ": the text prints differently");
  }

  void check_module(const std::string& when) {
    try {
      verify(module_, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
    } catch (const std::exception& e) {
      throw Failure(when + ": " + e.what());
    }
  }

  void check_results(const std::string& when, const Module& module) {
    for (size_t k = 0; k < shapes_.size(); ++k) {
      const std::string what = when + " at" + shape_text(shapes_[k]);
      std::vector<RefTensor> results;
      try {
        results = Interpreter(module).run(inputs_[k]);
      } catch (const std::exception& e) {
        throw Failure(what + ": " + e.what());
      }
      compare(what, expected_[k], results);
    }
  }

  void check_plan() {
    const GraphFunction& main = module_.graph(Module::kMain);
    for (const DimValues& shape : shapes_) {
      const std::string wrong = check_memory(main, shape);
      if (!wrong.empty())
        throw Failure(
            fmt::format("memory plan at{}: {}\n{}", shape_text(shape), wrong, print(main)));
    }
  }

  void check_schedules(const CpuTarget& target) {
    Module scheduled = module_;
    for (const std::string& name : module_.tile_names())
      scheduled.tile(name) = schedule_for_cpu(module_.tile(name), target);
    try {
      check_results(fmt::format("scheduled for {}", name_of(target.level)), scheduled);
    } catch (const Failure& e) {
      throw Failure(fmt::format("{}\n{}", e.what(), print(module_)));
    }
  }

  void check_compiled(const Module& original) {
    for (const bool optimize : {true, false}) {
      CompileOptions options;
      options.optimize = optimize;
      const std::string when = optimize ? "compiled" : "compiled without optimisation";
      const std::vector<std::byte> artifact =
          format::artifact_bytes(compile(original, options).parts());
      const api::Model model(artifact.data(), artifact.size());
      api::Session session(model, 2);
      for (size_t k = 0; k < shapes_.size(); ++k) {
        std::vector<Constant> inputs;
        for (const RefTensor& t : inputs_[k]) inputs.push_back(t.to_constant());
        std::vector<RefTensor> results;
        for (const Constant& c : run_session(session, inputs))
          results.push_back(RefTensor::from_constant(*c));
        try {
          compare(when + " at" + shape_text(shapes_[k]), expected_[k], results);
        } catch (const Failure& e) {
          throw Failure(fmt::format("{}\n{}", e.what(), print(original)));
        }
      }
    }
  }

  RandomGraph graph_;
  Module module_;
  unsigned seed_;
  std::vector<DimValues> shapes_;
  std::vector<std::vector<RefTensor>> inputs_, expected_;
};

int run(unsigned first, unsigned count) {
  unsigned failed = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    try {
      Program(seed).check();
    } catch (const std::exception& e) {
      fmt::print("FAILED seed {}: {}\n", seed, e.what());
      ++failed;
    }
    std::fflush(stdout);
  }
  fmt::print("{} passed, {} failed\n", count - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  const auto number = [&](int i, unsigned fallback) {
    return argc > i ? static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)) : fallback;
  };
  return symtile::test::run(number(1, 0), number(2, argc > 1 ? 1 : symtile::test::kDefaultCount));
}
