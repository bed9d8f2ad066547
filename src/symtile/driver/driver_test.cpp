#include "symtile/driver/driver.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <limits>
#include <thread>

#include "symtile/diag/diagnostic.h"
#include "symtile/driver/child_pool.h"
#include "symtile/driver/compare.h"
#include "symtile/driver/memory_bound.h"
#include "symtile/driver/memory_report.h"
#include "symtile/driver/npy.h"
#include "symtile/driver/run_inputs.h"
#include "symtile/driver/verify_model.h"

namespace symtile {
namespace {

Constant floats(const std::vector<double>& values, DType dtype = DType::f32) {
  auto out = make_zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out->set(static_cast<int64_t>(i), values[i]);
  return out;
}

Comparison compared(const Constant& actual, const Constant& expected) {
  return compare(*actual, *expected, scaled_tolerance(*expected));
}

TEST(Compare, FloatsAgreeWithinTheTolerance) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(compared(floats({1.0005, nan, inf, -0.0}), floats({1, nan, inf, 0})).agree());
  EXPECT_FALSE(compared(floats({1.01}), floats({1})).agree());
  EXPECT_FALSE(compared(floats({nan}), floats({1})).agree());
  EXPECT_FALSE(compared(floats({1}), floats({nan})).agree());
  EXPECT_FALSE(compared(floats({-inf}), floats({inf})).agree());
  EXPECT_FALSE(compared(floats({3e38}), floats({inf})).agree());
  EXPECT_TRUE(compared(floats({1.004}, DType::f16), floats({1}, DType::f16)).agree());
}

TEST(Compare, NamesTheWorstElement) {
  const Comparison c = compared(floats({1, 2.1, 9}), floats({1, 2, 3}));
  EXPECT_EQ(c.mismatch, "2 of 3 elements differ; element [2] is 9, not 3");
  EXPECT_DOUBLE_EQ(c.max_error, 6);
}

TEST(Compare, IntegersAreExact) {
  const auto big = [](int64_t v) { return make_i64_vector({v}); };
  EXPECT_TRUE(compared(big(int64_t{1} << 62), big(int64_t{1} << 62)).agree());
  EXPECT_FALSE(compared(big((int64_t{1} << 62) + 1), big(int64_t{1} << 62)).agree());
}

TEST(Compare, DtypesAndShapesMustBeEqual) {
  EXPECT_EQ(compared(floats({1}), floats({1}, DType::f64)).mismatch, "the dtype is f32, not f64");
  EXPECT_EQ(compared(floats({1}), floats({1, 1})).mismatch, "the shape is (1), not (2)");
}

TEST(ChildPool, EachTaskEndsOnItsOwn) {
  ChildLimits limits{3, std::chrono::milliseconds(500)};
  std::map<size_t, ChildOutcome> outcomes;
  run_in_children(
      5, limits,
      [](size_t i) -> std::string {
        if (i == 1) raise(SIGKILL);
        if (i == 2) std::this_thread::sleep_for(std::chrono::minutes(1));
        if (i == 3) throw UserError("no good");
        return i == 4 ? std::string(1 << 20, 'x') : "fine";
      },
      [&](size_t i, const ChildOutcome& o) { outcomes[i] = o; });
  EXPECT_EQ(outcomes[0].result, "fine");
  EXPECT_EQ(outcomes[0].death, "");
  EXPECT_EQ(outcomes[1].death, "killed by signal 9 (Killed)");
  EXPECT_EQ(outcomes[2].death, "not done after 0.5 s");
  EXPECT_EQ(outcomes[3].death, "ended with exit code 4: no good");
  EXPECT_EQ(outcomes[4].result.size(), 1u << 20);
}

TEST(Npy, KeepsEveryDtype) {
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("symtile_{}.npy", getpid());
  for (int t = 0; t < kNumDTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    auto data = make_zeros(dtype, {2, 3});
    for (int64_t i = 0; i < 6; ++i) data->set(i, static_cast<double>(i % 2));
    write_npy(file, *data);
    const Constant back = read_npy(file);
    EXPECT_EQ(back->dims, data->dims);
    EXPECT_EQ(back->dtype, dtype == DType::bf16 ? DType::f32 : dtype);
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(back->as_double(i), data->as_double(i));
  }
  std::filesystem::remove(file);
}

Module module_of(double factor) {
  return parse_module(
      fmt::format(R"(graph @main(%x: Tensor[(n, 4), f32]) -> ("y": Tensor[(n, 4), f32]) {{
  %k = constant f32() [{:.1f}] : Tensor[(), f32]
  %a = mul(%x, %k) : Tensor[(n, 4), f32]
  %y = exp(%a) : Tensor[(n, 4), f32]
  return %y
}}
)",
                  factor));
}

api::Model program_of(const Module& module) {
  const auto bytes = format::artifact_bytes(compile(module, {}).parts());
  return api::Model(bytes.data(), bytes.size());
}

std::string message_of(const api::Model& model, const InputSpec& spec) {
  try {
    make_run_inputs(model, spec);
    return {};
  } catch (const DiagnosticError& e) {
    return e.what();
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string whole = [] {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    header.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string(8, '\0');
  }();
  EXPECT_EQ(parse_npy(whole, "whole")->dims, std::vector<int64_t>{2});
  for (size_t length = 0; length < whole.size(); ++length) {
    try {
      (void)parse_npy(std::string_view(whole).substr(0, length), "cut");
      FAIL() << "accepted " << length << " bytes";
    } catch (const DiagnosticError& e) {
      EXPECT_EQ(e.id(), DiagId::bad_npy) << e.what();
    }
  }
}

TEST(RunInputs, AreTheSameForTheSameSeed) {
  const api::Model model = program_of(module_of(2));
  const RunInputs a = make_run_inputs(model, {.dims = {"n=3"}});
  const RunInputs b = make_run_inputs(model, {.dims = {"x=3x4"}});
  const RunInputs c = make_run_inputs(model, {.dims = {"n=3"}, .seed = 2});
  EXPECT_EQ(a.values[0]->dims, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(*a.values[0], *b.values[0]);
  EXPECT_EQ(b.symbols.at("n"), 3);
  EXPECT_FALSE(*a.values[0] == *c.values[0]);
  const RunInputs filled = make_run_inputs(model, {.dims = {"n=1"}, .fills = {"x=0.5"}});
  EXPECT_EQ(filled.values[0]->as_double(3), 0.5);
}

TEST(RunInputs, SayWhatIsMissing) {
  const api::Model model = program_of(module_of(2));
  EXPECT_NE(message_of(model, {}).find("no value for the dimension n"), std::string::npos);
  EXPECT_NE(message_of(model, {.dims = {"m=1"}}).find("its dimensions are: n"), std::string::npos);
  EXPECT_NE(message_of(model, {.dims = {"n=2", "x=3x4"}}).find("it is 2 already"),
            std::string::npos);
  EXPECT_NE(message_of(model, {.dims = {"n=1"}, .fills = {"x=?"}}).find("not a number"),
            std::string::npos);
}

TEST(MemoryReport, SumsWhatKernelsCompute) {
  Module module = module_of(2);
  CompileOptions options;
  options.optimize = false;  // two kernels, not one
  run_passes(module, options);
  const MemoryReport report = memory_report(module, DimValues{{"n", 5}});
  EXPECT_EQ(report.intermediates, DimExpr::symbol("n") * 32);
  EXPECT_EQ(report.intermediates_number, 160);
  EXPECT_EQ(report.constant_bytes, 4);
  EXPECT_GE(report.arena_number.value_or(-1), 0);
}

TEST(MemoryBound, IsNowhereBelowTheFormula) {
  const char* const formulas[] = {
      "64*((b*w + 15) // 16)",
      "max(5760*b*((w + 3) // 4) + 64*((b*((w + 3) // 8) + 1) // 2), 128*w*w, 4096)",
      "max(4*(w - 5), 3*b) + min(b, 7)*w",
      "64*((4*b*max(w - 2, 0) + 63) // 64) + w % 8",
      "max(b - 5, w) * (b + 1)",
  };
  for (const char* text : formulas) {
    const DimExpr formula = parse_dim_expr(text);
    const DimExpr bound = polynomial_bound(formula);
    for (const int64_t b : {0, 1, 2, 7, 31}) {
      for (const int64_t w : {5, 6, 8, 63, 640}) {
        const DimValues at{{"b", b}, {"w", w}};
        EXPECT_LE(formula.evaluate(at), bound.evaluate(at)) << text << " at " << b << ", " << w;
      }
    }
  }
  EXPECT_EQ(short_formula(parse_dim_expr("64*n + 8")), "64*n + 8");
  const DimExpr large = parse_dim_expr(formulas[1]) + parse_dim_expr(formulas[2]);
  EXPECT_EQ(short_formula(large).rfind("at most ", 0), 0U) << short_formula(large);
}

TEST(Verify, AgreesWithItself) {
  const Module module = module_of(2);
  const VerifyReport report =
      verify_model(module, program_of(module), {make_zeros(DType::f32, {3, 4})}, {});
  EXPECT_TRUE(report.agree());
  EXPECT_EQ(report.outputs.at(0).name, "y");
}

TEST(Verify, AcquitsPassesAndKernelsOfAnotherProgram) {
  const api::Model other = program_of(module_of(3));
  auto x = make_zeros(DType::f32, {1, 4});
  x->set(0, 1.0);
  const VerifyReport report = verify_model(module_of(2), other, {x}, {});
  EXPECT_FALSE(report.agree());
  EXPECT_EQ(report.pass, "");
  EXPECT_EQ(report.kernel, "");
  EXPECT_NE(report.detail.find("every pass and every kernel of main is right"), std::string::npos);
}

}  // namespace
}  // namespace symtile
