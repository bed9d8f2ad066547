// Statements end to end: loops of every kind, masks, scratch, task mappings, parallel ranges.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "symtile/backend/llvm/kernel_runner.h"
#include "symtile/ir/module.h"

namespace symtile::codegen {
namespace {

TileFunction parse_tile(const std::string& text) {
  const Module module = parse_module(text);
  return module.tile(module.tile_names().front());
}

std::vector<float> ramp(int64_t count, float scale = 0.37f) {
  std::vector<float> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = scale * static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  }
  return out;
}

const std::vector<int64_t> kExtents = {0,  1,  2,  3,  5,  7,  8,   15,  16,
                                       17, 31, 33, 63, 64, 97, 131, 1009};

/// Memory whose last element touches an unmapped page, so reading beyond it faults.
class Fenced {
 public:
  explicit Fenced(const std::vector<float>& values) : bytes_(values.size() * sizeof(float)) {
    page_ = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    used_ = (bytes_ / page_ + 1) * page_;
    base_ = static_cast<char*>(::mmap(nullptr, used_ + 2 * page_, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_, page_, PROT_NONE);
    ::mprotect(base_ + page_ + used_, page_, PROT_NONE);
    if (bytes_ > 0) std::memcpy(data(), values.data(), bytes_);
  }
  ~Fenced() { ::munmap(base_, used_ + 2 * page_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  float* data() { return reinterpret_cast<float*>(base_ + page_ + used_ - bytes_); }

 private:
  size_t bytes_, page_ = 0, used_ = 0;
  char* base_ = nullptr;
};

class EveryLevel : public testing::TestWithParam<CpuLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, EveryLevel, testing::ValuesIn(runnable_levels()),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST_P(EveryLevel, ElementwiseOfEveryLoopKind) {
  for (const char* kind : {"serial", "vectorized", "parallel"}) {
    const KernelRunner runner(
        parse_tile(fmt::format("tile @axpy<n>(%x: Buffer[(n), f32], %y: Buffer[(n), f32]) -> "
                               "(%z: Buffer[(n), f32]) {{\n for i in 0 to n {} {{ %z[i] = %x[i] * "
                               "2.0f32 + %y[i] }} }}",
                               kind)),
        GetParam());
    for (int64_t n : kExtents) {
      Fenced x(ramp(n)), y(ramp(n, 1.5f)), z(ramp(n));
      runner.run({x.data(), y.data(), z.data()}, {n}, kind[0] == 'p' ? 3 : 1);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(z.data()[i], x.data()[i] * 2 + y.data()[i]) << kind << " " << i << " of " << n;
      }
    }
  }
}

TEST_P(EveryLevel, ReductionsIntoOneElement) {
  const KernelRunner runner(
      parse_tile("tile @reduce<n>(%x: Buffer[(n), f32], %y: Buffer[(n), f32]) -> "
                 "(%s: Buffer[(4), f32]) {\n"
                 "  alloc %t: Buffer[(3), f32, local] {\n"
                 "    %t[0] = 0.0f32  %t[1] = f32(-inf)  %t[2] = f32(inf)  %s[3] = 1.0f32\n"
                 "    for i in 0 to n vectorized {\n"
                 "      %t[0] = %t[0] + %x[i] * %y[i]\n"
                 "      %s[3] = %s[3] + abs(%x[i])\n"
                 "    }\n"
                 "    for i in 0 to n vectorized { %t[1] = max(%t[1], %x[i]) }\n"
                 "    for i in 0 to n vectorized { %t[2] = min(%t[2], %x[i]) }\n"
                 "    for i in 0 to 3 unrolled { %s[i] = %t[i] }\n"
                 "  } }"),
      GetParam());
  for (int64_t n : kExtents) {
    Fenced x(ramp(n)), y(ramp(n, 1.5f));
    float s[4];
    runner.run({x.data(), y.data(), s}, {n});
    double dot = 0, sum = 1;
    float most = -std::numeric_limits<float>::infinity(), least = -most;
    for (int64_t i = 0; i < n; ++i) {
      dot += static_cast<double>(x.data()[i]) * y.data()[i];
      sum += std::abs(x.data()[i]);
      most = std::max(most, x.data()[i]);
      least = std::min(least, x.data()[i]);
    }
    EXPECT_NEAR(s[0], dot, 1e-5 * (1 + std::abs(dot) + static_cast<double>(n))) << n;
    EXPECT_NEAR(s[3], sum, 1e-5 * sum) << n;
    EXPECT_EQ(s[1], most) << n;
    EXPECT_EQ(s[2], least) << n;
    if (n > 2) {
      x.data()[n / 2] = std::nanf("");
      runner.run({x.data(), y.data(), s}, {n});
      EXPECT_TRUE(std::isnan(s[0]) && std::isnan(s[1]) && std::isnan(s[2]) && std::isnan(s[3]));
    }
  }
}

TEST_P(EveryLevel, RowsReducedTogether) {
  // Several accumulators picked by an unrolled loop inside the vectorised one.
  const KernelRunner runner(
      parse_tile("tile @gemv<n>(%a: Buffer[(4, n), f32], %x: Buffer[(n), f32]) -> "
                 "(%y: Buffer[(4), f32]) {\n"
                 "  alloc %t: Buffer[(4), f32, local] {\n"
                 "    for r in 0 to 4 unrolled { %t[r] = 0.0f32 }\n"
                 "    for k in 0 to n vectorized {\n"
                 "      for r in 0 to 4 unrolled { %t[r] = %t[r] + %a[r, k] * %x[k] } }\n"
                 "    for r in 0 to 4 unrolled { %y[r] = %t[r] }\n"
                 "  } }"),
      GetParam());
  for (int64_t n : kExtents) {
    Fenced a(ramp(4 * n)), x(ramp(n, 0.25f));
    float y[4];
    runner.run({a.data(), x.data(), y}, {n});
    for (int64_t r = 0; r < 4; ++r) {
      double want = 0;
      for (int64_t k = 0; k < n; ++k)
        want += static_cast<double>(a.data()[r * n + k]) * x.data()[k];
      EXPECT_NEAR(y[r], want, 1e-4 * (1 + std::abs(want))) << n;
    }
  }
}

TEST_P(EveryLevel, MasksDoNotTouchMemory) {
  // A shifted window with edges: selects guard loads, ifs guard stores, in lanes and scalars.
  for (const char* kind : {"serial", "vectorized"}) {
    const KernelRunner runner(
        parse_tile(fmt::format(
            "tile @window<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32], %z: Buffer[(n), f32]) "
            "{{ for i in 0 to n {} {{\n"
            "  %y[i] = select(i >= 1, %x[i - 1], 0.0f32) + select(i + 1 < n, %x[i + 1], 10.0f32)\n"
            "  if i % 3 == 1 {{ %z[i] = %x[i] }} else {{ if i < n - 2 {{ %z[i] = %x[i + 2] + "
            "select(n > 5 && i > 5, %x[5], 1.0f32) }} }}\n"
            "}} }}",
            kind)),
        GetParam());
    for (int64_t n : kExtents) {
      Fenced x(ramp(n)), y(ramp(n)), z(std::vector<float>(static_cast<size_t>(n), 5.0f));
      runner.run({x.data(), y.data(), z.data()}, {n});
      const float* v = x.data();
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(y.data()[i], (i >= 1 ? v[i - 1] : 0) + (i + 1 < n ? v[i + 1] : 10)) << n;
        const float want = i % 3 == 1  ? v[i]
                           : i < n - 2 ? v[i + 2] + (n > 5 && i > 5 ? v[5] : 1)
                                       : 5.0f;
        EXPECT_EQ(z.data()[i], want) << kind << " " << i << " of " << n;
      }
    }
  }
}

TEST_P(EveryLevel, GathersStridesAndScatters) {
  const KernelRunner runner(
      parse_tile("tile @gather<n>(%x: Buffer[(4*n), f32], %at: Buffer[(n), i64]) -> "
                 "(%a: Buffer[(n), f32], %b: Buffer[(n), f32], %c: Buffer[(n), f32], "
                 "%d: Buffer[(n), f32], %e: Buffer[(2*n), f32], %f: Buffer[(n), f32]) {\n"
                 "for i in 0 to n vectorized {\n"
                 "  %a[i] = %x[%at[i]]\n  %b[i] = %x[2*i]\n  %c[i] = %x[n - 1 - i]\n"
                 "  %d[i] = %x[3*i + 1] + %x[i * 4] + %x[i // 3]\n"
                 "  %e[2*i] = %x[i]\n  %e[2*i + 1] = -%x[i]\n"
                 "  %f[n - 1 - i] = select(%at[i] >= 0 && %at[i] < n, %x[%at[i]], 3.0f32)\n } }"),
      GetParam());
  for (int64_t n : kExtents) {
    Fenced x(ramp(4 * n)), a(ramp(n)), b(ramp(n)), c(ramp(n)), d(ramp(n)), e(ramp(2 * n)),
        f(ramp(n));
    std::vector<int64_t> at(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) at[static_cast<size_t>(i)] = i * 5 % (4 * n);
    runner.run({x.data(), at.data(), a.data(), b.data(), c.data(), d.data(), e.data(), f.data()},
               {n});
    const float* v = x.data();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = at[static_cast<size_t>(i)];
      EXPECT_EQ(a.data()[i], v[j]);
      EXPECT_EQ(b.data()[i], v[2 * i]);
      EXPECT_EQ(c.data()[i], v[n - 1 - i]);
      EXPECT_EQ(d.data()[i], v[3 * i + 1] + v[4 * i] + v[i / 3]);
      EXPECT_EQ(e.data()[2 * i], v[i]);
      EXPECT_EQ(e.data()[2 * i + 1], -v[i]);
      EXPECT_EQ(f.data()[n - 1 - i], j < n ? v[j] : 3.0f);
    }
  }
}

TEST_P(EveryLevel, MergedAxesAreCutAtTheirSeams) {
  // Heads merged back into rows, broadcasts over a flattened axis, and a symbolic inner extent.
  const KernelRunner runner(
      parse_tile(
          "tile @merge<n, c>(%x: Buffer[(12, n, 64), f32], %v: Buffer[(c), f32]) -> "
          "(%y: Buffer[(n, 768), f32], %z: Buffer[(n, c), f32], %s: Buffer[(1), f32]) {\n"
          "%s[0] = 0.0f32\n"
          "for i in 0 to n { for j in 0 to 768 vectorized { %y[i, j] = %x[j // 64, i, j % 64] } }\n"
          "for i in 0 to n * c vectorized { %z[i // c, i % c] = %v[(i + 0) % c] + %x[(i + 5) // "
          "(n * c + 5), 0, 0]  %s[0] = %s[0] + %v[i % c] } }"),
      GetParam());
  for (int64_t n : {1, 3}) {
    for (int64_t c : {1, 5, 16, 77}) {
      Fenced x(ramp(12 * n * 64)), v(ramp(c)), y(ramp(n * 768)), z(ramp(n * c));
      float s = 0;
      runner.run({x.data(), v.data(), y.data(), z.data(), &s}, {n, c});
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < 768; ++j) {
          EXPECT_EQ(y.data()[i * 768 + j], x.data()[(j / 64 * n + i) * 64 + j % 64]);
        }
        for (int64_t j = 0; j < c; ++j) {
          const int64_t q = (i * c + j + 5) / (n * c + 5);
          EXPECT_EQ(z.data()[i * c + j], v.data()[j] + x.data()[q * n * 64]);
          sum += v.data()[j];
        }
      }
      EXPECT_NEAR(s, sum, 1e-3 * (1 + std::abs(sum)));
    }
  }
}

TEST_P(EveryLevel, BuffersPrivateToEachLane) {
  // Lanes over columns, a serial loop over rows inside, the accumulator allocated in the lane.
  const KernelRunner runner(
      parse_tile("tile @columns<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(n), f32]) {\n"
                 "for j in 0 to n vectorized {\n"
                 "  alloc %t: Buffer[(2), f32, local] {\n"
                 "    %t[0] = 0.0f32  %t[1] = f32(-inf)\n"
                 "    for i in 0 to m { %t[0] = %t[0] + %x[i, j]  %t[1] = max(%t[1], %x[i, j]) }\n"
                 "    if j % 2 == 0 { %t[1] = 1.0f32 }\n"
                 "    %y[j] = %t[0] * %t[1]\n  } } }"),
      GetParam());
  const int64_t m = 9;
  for (int64_t n : kExtents) {
    Fenced x(ramp(m * n)), y(ramp(n));
    runner.run({x.data(), y.data()}, {m, n});
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0, most = -std::numeric_limits<float>::infinity();
      for (int64_t i = 0; i < m; ++i) {
        sum += x.data()[i * n + j];
        most = std::max(most, x.data()[i * n + j]);
      }
      EXPECT_FLOAT_EQ(y.data()[j], sum * (j % 2 == 0 ? 1 : most)) << j << " of " << n;
    }
  }
}

TEST_P(EveryLevel, ReduceExpressionsInsideStores) {
  for (const char* kind : {"serial", "vectorized", "parallel"}) {
    const KernelRunner runner(
        parse_tile(fmt::format("tile @r<m, n>(%x: Buffer[(m, n), f32]) -> (%s: Buffer[(m), f32], "
                               "%a: Buffer[(m), i64], "
                               "%p: Buffer[(m), f32], %k: Buffer[(m), bool]) {{\n"
                               "for i in 0 to m {} {{\n"
                               "  %s[i] = (sum(j < n) %x[i, j] * %x[i, j]) + max(j < n) %x[i, j]\n"
                               "  %a[i] = argmax(j < n) %x[i, j]\n"
                               "  %p[i] = prod(j < 3) select(j < n, %x[i, j], 1.0f32)\n"
                               "  %k[i] = any(j < n) %x[i, j] > 4.0f32\n }} }}",
                               kind)),
        GetParam());
    for (int64_t m : {0, 1, 5, 37}) {
      for (int64_t n : {0, 1, 2, 19}) {
        Fenced x(ramp(m * n)), s(ramp(m)), p(ramp(m));
        std::vector<int64_t> a(static_cast<size_t>(m) + 1);
        std::vector<uint8_t> k(static_cast<size_t>(m) + 1);
        runner.run({x.data(), s.data(), a.data(), p.data(), k.data()}, {m, n}, 2);
        for (int64_t i = 0; i < m; ++i) {
          double sum = 0;
          float most = -std::numeric_limits<float>::infinity(), product = 1;
          int64_t best = 0;
          bool any = false;
          for (int64_t j = 0; j < n; ++j) {
            const float v = x.data()[i * n + j];
            sum += static_cast<double>(v) * v;
            if (v > most) most = v, best = j;
            if (j < 3) product *= v;
            any |= v > 4;
          }
          if (n == 0) {
            EXPECT_EQ(s.data()[i], most);
          } else {
            EXPECT_NEAR(s.data()[i], sum + most, 1e-4 * (1 + std::abs(sum)));
          }
          EXPECT_EQ(a[static_cast<size_t>(i)], best);
          EXPECT_FLOAT_EQ(p.data()[i], product);
          EXPECT_EQ(k[static_cast<size_t>(i)], any);
        }
      }
    }
  }
}

TEST_P(EveryLevel, ParallelChainsAndScratch) {
  // Two parallel loops collapse into one range; each row normalises itself through scratch.
  const TileFunction f = parse_tile(
      "tile @rows<b, m, n>(%x: Buffer[(b, m, n), f32]) -> (%y: Buffer[(b, m, n), f32]) {\n"
      "for i in 0 to b parallel { for j in 0 to m parallel {\n"
      "  alloc %t: Buffer[(n), f32, scratch] { alloc %s: Buffer[(1), f32, local] {\n"
      "    %s[0] = 0.0f32\n"
      "    for k in 0 to n vectorized { %t[k] = exp(%x[i, j, k]) }\n"
      "    for k in 0 to n vectorized { %s[0] = %s[0] + %t[k] }\n"
      "    for k in 0 to n vectorized { %y[i, j, k] = %t[k] / %s[0] }\n"
      "  } } } } }");
  const KernelRunner runner(f, GetParam());
  EXPECT_EQ(runner.code().kernels[0].parallel_extent, DimExpr::symbol("b") * DimExpr::symbol("m"));
  EXPECT_EQ(runner.code().kernels[0].scratch_bytes, round_up(4 * DimExpr::symbol("n"), 64));
  for (int64_t n : {1, 16, 37, 200}) {
    const int64_t b = 3, m = 5;
    Fenced x(ramp(b * m * n, 0.1f)), y(ramp(b * m * n));
    runner.run({x.data(), y.data()}, {b, m, n}, 4);
    for (int64_t r = 0; r < b * m; ++r) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += std::exp(static_cast<double>(x.data()[r * n + k]));
      for (int64_t k = 0; k < n; ++k) {
        EXPECT_NEAR(y.data()[r * n + k], std::exp(x.data()[r * n + k]) / sum, 1e-6);
      }
    }
  }
}

TEST_P(EveryLevel, InPlaceOperandsMayShareMemory) {
  const KernelRunner runner(
      parse_tile("tile @inplace<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) "
                 "attrs {inplace = 1} { for i in 0 to n { %y[i] = %x[i] * 3.0f32 } }"),
      GetParam());
  std::vector<float> x = ramp(1000), want = x;
  for (float& v : want) v *= 3;
  runner.run({x.data(), x.data()}, {1000});
  EXPECT_EQ(x, want);
}

TEST_P(EveryLevel, TaskMappings) {
  for (const char* mapping : {"spatial(4, 8) * repeat(2, 2)", "repeat(4, 1) * spatial(16, 8)",
                              "spatial(2, 3; 1, 0) * repeat(3, 2; 1, 0) * spatial(2, 1)",
                              "repeat(9, 9) * spatial(2, 2)"}) {
    const TileFunction f = parse_tile(fmt::format(
        "tile @t<w>(%o: Buffer[(1), i64]) -> (%out: Buffer[(4096), i64]) {{ alloc %n: Buffer[(1), "
        "i64, local] {{ %n[0] = 0 tasks (a, b) of {} by w {{ %out[%n[0]] = a * 1000 + b  %n[0] = "
        "%n[0] + 1 }} %out[%n[0]] = -1 }} }}",
        mapping));
    const KernelRunner runner(f, GetParam());
    const auto* task = [&]() -> const TaskStmt* {
      const TaskStmt* found = nullptr;
      visit(
          f.body,
          [&](const Stmt& s) {
            if (const auto* t = as<TaskStmt>(s)) found = t;
          },
          nullptr);
      return found;
    }();
    ASSERT_NE(task, nullptr);
    for (int64_t w = 0; w < *task->mapping.workers().as_const(); ++w) {
      std::vector<int64_t> out(4096), unused(1);
      runner.run({unused.data(), out.data()}, {w});
      const auto tasks = task->mapping.tasks(w);
      for (size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(out[i], tasks[i][0] * 1000 + tasks[i][1]);
      EXPECT_EQ(out[tasks.size()], -1);
    }
  }
}

TEST_P(EveryLevel, SymbolicTaskMappings) {
  // Worker w of a mapping whose extents are symbols; beyond its workers there are no tasks.
  const KernelRunner runner(
      parse_tile("tile @t<w, n, r>(%o: Buffer[(1), i64]) -> (%out: Buffer[(4096), i64]) { alloc "
                 "%n: Buffer[(1), i64, local] { %n[0] = 0 tasks (a, b) of spatial(n, 2) * "
                 "repeat(r, 3) by w { %out[%n[0]] = a * 1000 + b  %n[0] = %n[0] + 1 } "
                 "%out[%n[0]] = -1 } }"),
      GetParam());
  for (const int64_t n : {0, 1, 3}) {
    for (const int64_t r : {0, 1, 2}) {
      const TaskMapping mapping = TaskMapping::spatial({n, 2}) * TaskMapping::repeat({r, 3});
      for (int64_t w = -1; w < 2 * n + 2; ++w) {
        std::vector<int64_t> out(4096), unused(1);
        runner.run({unused.data(), out.data()}, {w, n, r});
        std::vector<std::vector<int64_t>> tasks;
        if (w >= 0 && w < 2 * n) tasks = mapping.tasks(w);
        for (size_t i = 0; i < tasks.size(); ++i)
          EXPECT_EQ(out[i], tasks[i][0] * 1000 + tasks[i][1]) << n << " " << r << " " << w;
        EXPECT_EQ(out[tasks.size()], -1) << n << " " << r << " " << w;
      }
    }
  }
}

TEST_P(EveryLevel, LoopsThatCannotBeLanesRunSerially) {
  // A recurrence marked vectorised by mistake of the schedule, lets, unrolled symbolic starts.
  const KernelRunner runner(
      parse_tile(
          "tile @scan<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32], %z: Buffer[(n), "
          "f32]) { alloc %t: Buffer[(1), f32, local] { %t[0] = 0.0f32\n"
          "for i in 0 to n vectorized { let v = %x[i] { %t[0] = v - %t[0]  %y[i] = %t[0] } }\n"
          "for o in 0 to n - 3 step 4 { for i in o to o + 4 unrolled { let d = i - o {"
          " %z[i] = cast<f32>(d) } } } } }"),
      GetParam());
  for (int64_t n : {4, 64}) {
    Fenced x(ramp(n)), y(ramp(n)), z(ramp(n));
    runner.run({x.data(), y.data(), z.data()}, {n});
    float t = 0;
    for (int64_t i = 0; i < n; ++i) {
      t = x.data()[i] - t;
      EXPECT_EQ(y.data()[i], t);
      EXPECT_EQ(z.data()[i], static_cast<float>(i % 4));
    }
  }
}

TEST_P(EveryLevel, IntegerDotProductsAndBytes) {
  const KernelRunner runner(
      parse_tile(
          "tile @q<n>(%a: Buffer[(n), u8], %b: Buffer[(n), i8]) -> (%s: Buffer[(1), i32], "
          "%c: Buffer[(n), u8], %m: Buffer[(n), bool]) {\n %s[0] = 0i32\n"
          "for i in 0 to n vectorized { %s[0] = %s[0] + cast<i32>(%a[i]) * cast<i32>(%b[i]) }\n"
          "for i in 0 to n vectorized { %c[i] = max(%a[i], 17u8) + 1u8\n"
          " %m[i] = %b[i] > 3i8 && %a[i] < 200u8 } }"),
      GetParam());
  for (int64_t n : kExtents) {
    std::vector<uint8_t> a(static_cast<size_t>(n) + 1), c(a), m(a);
    std::vector<int8_t> b(static_cast<size_t>(n) + 1);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint8_t>(i * 37);
      b[i] = static_cast<int8_t>(i * 91);
    }
    int32_t s = 0, want = 0;
    runner.run({a.data(), b.data(), &s, c.data(), m.data()}, {n});
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      want += a[i] * b[i];
      EXPECT_EQ(c[i], static_cast<uint8_t>(std::max<int>(a[i], 17) + 1));
      EXPECT_EQ(m[i], b[i] > 3 && a[i] < 200);
    }
    EXPECT_EQ(s, want) << n;
    EXPECT_EQ(c[static_cast<size_t>(n)], 0);
  }
}

TEST(Compile, ManyFunctionsAndAProgressReport) {
  std::vector<TileFunction> functions;
  for (int i = 0; i < 9; ++i) {
    functions.push_back(parse_tile(fmt::format(
        "tile @\"f/{}\"<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {{ for i in 0 to n "
        "vectorized {{ %y[i] = %x[i] + {}.0f32 }} }}",
        i % 3, i)));
  }
  int last = 0;
  CpuCodegenOptions options;
  options.threads = 4;
  options.progress = [&](int done, int total) {
    EXPECT_EQ(done, ++last);
    EXPECT_EQ(total, 9);
  };
  const CpuCode code = compile_cpu(functions, cpu_target(native_cpu_level()), options);
  EXPECT_EQ(last, 9);
  std::set<std::string> symbols;
  for (const KernelCode& k : code.kernels) symbols.insert(k.symbol);
  EXPECT_EQ(symbols.size(), 9u);
  const CpuCode again = compile_cpu(functions, cpu_target(native_cpu_level()));
  EXPECT_EQ(code.shared_object, again.shared_object);
}

TEST(Compile, CrossCompilesForArm) {
  const TileFunction f = parse_tile(
      "tile @soft<n>(%x: Buffer[(n), f16]) -> (%y: Buffer[(n), f16]) { for i in 0 to n vectorized "
      "{ %y[i] = cast<f16>(tanh(sin(cast<f32>(%x[i])))) } }");
  const CpuCode code = compile_cpu({f}, cpu_target(CpuLevel::armv8));
  ASSERT_GT(code.shared_object.size(), 64u);
  EXPECT_EQ(static_cast<int>(code.shared_object[18]), 183);  // EM_AARCH64
  EXPECT_NE(view_code(f, cpu_target(CpuLevel::armv8), CodeView::assembly).find("k_soft"),
            std::string::npos);
}

TEST(Compile, NothingIsLegal) {
  EXPECT_TRUE(compile_cpu({}, cpu_target(CpuLevel::x86_64_v3)).kernels.empty());
}

TEST(Compile, UnboundNamesAreOurBug) {
  TileFunction f;
  f.name = "bad";
  f.outputs = {{"y", DType::f32, {1}, Scope::global, {}}};
  f.body = store("y", {var("i")}, imm(DType::f32, 1));
  EXPECT_THROW(compile_cpu({f}, cpu_target(CpuLevel::x86_64_v3)), InternalError);
}

}  // namespace
}  // namespace symtile::codegen
