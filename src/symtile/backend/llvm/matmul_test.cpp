// A register-tiled matrix product written as tile IR: the accumulators must live in registers.
// The benchmark prints how close to the machine's peak the code comes; it asserts nothing.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "symtile/backend/llvm/kernel_runner.h"
#include "symtile/ir/module.h"

namespace symtile::codegen {
namespace {

struct Tile {
  int rows, columns;
};

Tile tile_for(const CpuTarget& target) {
  const int lanes = target.lanes(4);
  if (target.vector_registers == 32) return {target.vector_bytes == 64 ? 12 : 6, 2 * lanes};
  return {6, 2 * lanes};
}

/// c[m, n] = a[m, k] b[k, n]; b is packed in column panels of the tile's width.
TileFunction matmul(const Tile& t) {
  const std::string text = fmt::format(
      "tile @matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(n // {1}, k, {1}), f32]) -> "
      "(%c: Buffer[(m, n), f32]) facts {{ m % {0} == 0; n % {1} == 0 }} {{\n"
      "for jb in 0 to n // {1} parallel {{ for ib in 0 to m // {0} parallel {{\n"
      "  alloc %acc: Buffer[({0}, {1}), f32, local] {{\n"
      "    for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{ %acc[i, j] = 0.0f32 }} "
      "}}\n"
      "    for p in 0 to k {{\n"
      "      for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{\n"
      "        %acc[i, j] = %acc[i, j] + %a[ib * {0} + i, p] * %b[jb, p, j] }} }} }}\n"
      "    for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{\n"
      "      %c[ib * {0} + i, jb * {1} + j] = %acc[i, j] }} }}\n"
      "  }} }} }} }}",
      t.rows, t.columns);
  return parse_module(text).tile("matmul");
}

TEST(Matmul, AccumulatorsStayInRegisters) {
  for (CpuLevel level :
       {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4, CpuLevel::armv8}) {
    const CpuTarget& target = cpu_target(level);
    const TileFunction f = matmul(tile_for(target));
    const std::string ir = view_code(f, target, CodeView::optimized_llvm_ir);
    EXPECT_EQ(ir.find("alloca"), std::string::npos) << name_of(level);
    const std::string assembly = view_code(f, target, CodeView::assembly);
    // A spilled vector would be moved to the stack and back.
    std::istringstream lines(assembly);
    for (std::string line; std::getline(lines, line);) {
      const bool on_stack =
          line.find("(%rsp") != std::string::npos || line.find("[sp") != std::string::npos;
      const bool is_vector =
          line.find("mm") != std::string::npos || line.find("\tq") != std::string::npos;
      EXPECT_FALSE(on_stack && is_vector) << name_of(level) << ": " << line;
    }
  }
}

TEST(Matmul, IsRight) {
  for (CpuLevel level : runnable_levels()) {
    const Tile t = tile_for(cpu_target(level));
    const KernelRunner runner(matmul(t), level);
    const int64_t m = 2 * t.rows, n = 3 * t.columns, k = 37;
    std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k)),
        c(static_cast<size_t>(m * n));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 13) - 6;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 11) - 5;
    runner.run({a.data(), b.data(), c.data()}, {m, n, k}, 3);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float want = 0;
        for (int64_t p = 0; p < k; ++p) {
          const int64_t panel = j / t.columns;
          want += a[static_cast<size_t>(i * k + p)] *
                  b[static_cast<size_t>((panel * k + p) * t.columns + j % t.columns)];
        }
        EXPECT_EQ(c[static_cast<size_t>(i * n + j)], want);
      }
    }
  }
}

/// Independent multiply-adds only: what the core can do.
TileFunction peak(int vectors, const CpuTarget& target) {
  // The factors change every round, so that no product is computed ahead of the loop.
  const char* product = target.has_fma ? "%x[r % 2, j] * %x[1, j]" : "%acc[i, j] * %x[0, j]";
  const std::string text = fmt::format(
      "tile @peak<n>(%x: Buffer[(2, {1}), f32]) -> (%y: Buffer[({0}, {1}), f32]) {{\n"
      "alloc %acc: Buffer[({0}, {1}), f32, local] {{\n"
      "for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{ %acc[i, j] = 0.0f32 }} }}\n"
      "for r in 0 to n {{ for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{ "
      "%acc[i, j] = %acc[i, j] + {2} }} }} }}\n"
      "for i in 0 to {0} unrolled {{ for j in 0 to {1} vectorized {{ %y[i, j] = %acc[i, j] }} }}\n"
      "}} }}",
      vectors, target.lanes(4), product);
  return parse_module(text).tile("peak");
}

template <typename F>
double best_seconds(F&& f) {
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

TEST(Matmul, PrintsItsSpeed) {
  for (CpuLevel level : runnable_levels()) {
    const CpuTarget& target = cpu_target(level);
    const Tile t = tile_for(target);
    const int64_t m = 512 / t.rows * t.rows, n = 512, k = 512;
    std::vector<float> a(static_cast<size_t>(m * k), 1.0f), b(static_cast<size_t>(n * k), 0.5f),
        c(static_cast<size_t>(m * n));
    const KernelRunner product(matmul(t), level);
    const double seconds =
        best_seconds([&] { product.run({a.data(), b.data(), c.data()}, {m, n, k}); });
    const int vectors = target.vector_registers == 32 ? 16 : 10;
    const KernelRunner limit(peak(vectors, target), level);
    std::vector<float> x(64, 0.0f), y(16 * 64);
    const double peak_seconds = best_seconds([&] { limit.run({x.data(), y.data()}, {100000}); });
    const double gflops = 2e-9 * static_cast<double>(m * n * k) / seconds;
    const double most = 2e-9 * 100000.0 * vectors * target.lanes(4) / peak_seconds;
    std::printf("%s: %dx%d tile, %.1f GFLOP/s of %.1f (%.0f %%)\n",
                std::string(name_of(level)).c_str(), t.rows, t.columns, gflops, most,
                100 * gflops / most);
  }
}

TEST(Compile, PrintsItsSpeed) {
  // About the kernels of a model: products with heavy bodies, elementwise and softmax rows.
  std::vector<TileFunction> functions;
  const CpuTarget& target = cpu_target(native_cpu_level());
  for (int i = 0; i < 150; ++i) {
    if (i % 3 == 0) {
      functions.push_back(matmul(tile_for(target)));
    } else if (i % 3 == 1) {
      functions.push_back(
          parse_module("tile @gelu<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) "
                       "{ for b in 0 to (n + 4095) // 4096 parallel { for i in b * 4096 "
                       "to min(n, b * 4096 + 4096) vectorized { %y[i] = 0.5f32 * %x[i] * "
                       "(1.0f32 + erf(%x[i] * 0.70710677f32)) } } }")
              .tile("gelu"));
    } else {
      functions.push_back(
          parse_module(
              "tile @softmax<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m, n), f32]) {\n"
              "for i in 0 to m parallel { alloc %t: Buffer[(2), f32, local] {\n"
              "%t[0] = f32(-inf) %t[1] = 0.0f32\n"
              "for j in 0 to n vectorized { %t[0] = max(%t[0], %x[i, j]) }\n"
              "for j in 0 to n vectorized { let e = exp(%x[i, j] - %t[0]) { %y[i, j] = e "
              "%t[1] = %t[1] + e } }\n"
              "for j in 0 to n vectorized { %y[i, j] = %y[i, j] / %t[1] } } } }")
              .tile("softmax"));
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const CpuCode code = compile_cpu(functions, target);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("150 kernels: %.2f s, %zu bytes\n", seconds, code.shared_object.size());
}

}  // namespace
}  // namespace symtile::codegen
