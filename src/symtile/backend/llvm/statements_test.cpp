// Statements end to end: loops of every kind, masks, scratch, task mappings, parallel ranges.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "symtile/backend/llvm/kernel_runner.h"

namespace symtile::codegen {
namespace {

Buffer buffer(std::string name, Dims dims, DType dtype = DType::f32, Scope scope = Scope::global) {
  return {std::move(name), dtype, std::move(dims), scope, {}};
}
DimExpr sym(const char* name) { return DimExpr::symbol(name); }

std::vector<float> ramp(size_t count, float scale = 0.37f) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = scale * static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  }
  return out;
}

class EveryLevel : public testing::TestWithParam<CpuLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, EveryLevel, testing::ValuesIn(runnable_levels()),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(EveryLevel, SerialLoopOverSymbolicExtent) {
  TileFunction f;
  f.name = "axpy";
  f.symbols = {"n"};
  f.inputs = {buffer("x", {sym("n")}), buffer("y", {sym("n")})};
  f.outputs = {buffer("z", {sym("n")})};
  f.body = for_loop("i", 0, var("n"), LoopKind::serial,
                    store("z", {var("i")},
                          load("x", DType::f32, {var("i")}) * imm(DType::f32, 2) +
                              load("y", DType::f32, {var("i")})));
  const KernelRunner runner(f, GetParam());
  for (int64_t n : {0, 1, 31, 1000}) {
    auto x = ramp(static_cast<size_t>(n)), y = ramp(static_cast<size_t>(n), 1.5f);
    std::vector<float> z(static_cast<size_t>(n) + 1, -7.0f);
    runner.run({x.data(), y.data(), z.data()}, {n});
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) EXPECT_EQ(z[i], x[i] * 2 + y[i]);
    EXPECT_EQ(z[static_cast<size_t>(n)], -7.0f);
  }
}

}  // namespace
}  // namespace symtile::codegen
