// Properties of GPU schedules that random programs do not show: every barrier is needed, every
// candidate of the schedule space is right, and the space does not depend on the input.
#include <gtest/gtest.h>

#include "symtile/interp/emulator.h"
#include "symtile/interp/tile_interp.h"
#include "symtile/schedule/gpu/contraction.h"
#include "symtile/schedule/schedule.h"

namespace symtile::gpu {
namespace {

const GpuTarget kTiny = {
    .name = "tiny", .lanes = 4, .max_threads = 8, .shared_bytes = 2048, .registers = 40};

constexpr const char* kMatmul = R"(
tile @f<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32], %c: Buffer[(n), f32]) -> (%y: Buffer[(m, n), f32]) {
  compute %y[i < m, j < n] = max((sum(p < k) %a[i, p] * %b[p, j]) + %c[j], 0.0f32)
})";
constexpr const char* kSoftmax = R"(
tile @f<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m, n), f32]) {
  alloc %t: Buffer[(m), f32] {
    alloc %e: Buffer[(m, n), f32] {
      alloc %s: Buffer[(m), f32] {
        compute %t[i < m] = max(j < n) %x[i, j]
        compute %e[i < m, j < n] = exp(%x[i, j] - %t[i])
        compute %s[i < m] = sum(j < n) %e[i, n - 1 - j]
        compute %y[i < m, j < n] = %e[i, n - 1 - j] / %s[i]
      }
    }
  }
})";
constexpr const char* kColumns = R"(
tile @f<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(n), f32]) {
  compute %y[j < n] = sum(i < m) %x[i, j]
})";
constexpr const char* kArgmax = R"(
tile @f<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m), i64]) {
  compute %y[i < m] = argmax(j < n) %x[i, j]
})";
constexpr const char* kSort = R"(
tile @f<m, n>(%x: Buffer[(m, n), i32]) -> (%y: Buffer[(m, min(n, 3)), i32], %p: Buffer[(m, min(n, 3)), i64]) {
  alloc %r: Buffer[(m, n), i64] {
    compute %r[i < m, j < n] = sum(k < n) cast<i64>(%x[i, k] > %x[i, j] || !(%x[i, j] > %x[i, k]) && k < j)
    compute %p[i < m, q < min(n, 3)] = sum(j < n) select(%r[i, j] == q, j, 0)
    compute %y[i < m, q < min(n, 3)] = %x[i, %p[i, q]]
  }
})";
constexpr const char* kScan = R"(
tile @f<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m, n), f32]) {
  for i in 0 to m parallel {
    for j in 0 to n {
      %y[i, j] = select(j > 0, %y[i, j - 1], 0.0f32) + %x[i, j]
    }
  }
})";
constexpr const char* kHalves = R"(
tile @f<m, n, k>(%a: Buffer[(m, k), f16], %b: Buffer[(n, k), f16]) -> (%y: Buffer[(m, n), f32]) {
  compute %y[i < m, j < n] = sum(p < k) cast<f32>(%a[i, p]) * cast<f32>(%b[j, p])
})";
const GpuTarget kAsync = {.name = "async",
                          .lanes = 4,
                          .max_threads = 8,
                          .shared_bytes = 4096,
                          .registers = 40,
                          .has_async_copies = true};
const GpuTarget kMatrix = {.name = "matrix",
                           .lanes = 32,
                           .max_threads = 128,
                           .shared_bytes = 32768,
                           .registers = 128,
                           .has_async_copies = true,
                           .has_matrix_multiply = true};

TileFunction parse(const char* text) { return parse_module(text).tile("f"); }

std::vector<RefTensor> inputs_of(const TileFunction& f, const DimValues& symbols) {
  std::vector<RefTensor> out;
  for (const Buffer& b : f.inputs) {
    std::vector<int64_t> dims;
    for (const DimExpr& d : b.dims) dims.push_back(d.evaluate(symbols));
    RefTensor t(b.dtype, dims);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i * 7 % 13) - 6);
    out.push_back(std::move(t));
  }
  return out;
}

std::vector<const RefTensor*> pointers(const std::vector<RefTensor>& tensors) {
  std::vector<const RefTensor*> out;
  for (const RefTensor& t : tensors) out.push_back(&t);
  return out;
}

int count_barriers(const TileFunction& f) {
  int count = 0;
  visit(f.body, [&](const Stmt& s) { count += as<BarrierStmt>(s) != nullptr; }, [](const Expr&) {});
  return count;
}

TileFunction without_barrier(TileFunction f, int number) {
  int at = 0;
  f.body = rewrite(
      f.body,
      [&](const Stmt& s) -> Stmt {
        return as<BarrierStmt>(s) && at++ == number ? make_stmt(BlockStmt{}) : s;
      },
      nullptr);
  return f;
}

TEST(GpuSchedule, EveryBarrierIsNeeded) {
  int removed = 0;
  const DimValues sizes = {{"m", 9}, {"n", 21}, {"k", 37}};
  for (const char* text : {kMatmul, kSoftmax, kColumns, kArgmax, kSort, kScan}) {
    const TileFunction f = parse(text);
    const TileFunction scheduled = schedule_for_gpu(f, kTiny);
    DimValues symbols;
    for (const std::string& s : f.symbols) symbols[s] = sizes.at(s);
    const auto inputs = inputs_of(f, symbols);
    ASSERT_TRUE(emulate_tile(scheduled, symbols, pointers(inputs)).faults.empty());
    const int barriers = count_barriers(scheduled);
    EXPECT_GT(barriers, 0) << print(scheduled);
    for (int i = 0; i < barriers; ++i) {
      const TileFunction worse = without_barrier(scheduled, i);
      const Emulation e = emulate_tile(worse, symbols, pointers(inputs));
      bool race = false;
      for (const Fault& fault : e.faults) race = race || fault.kind == FaultKind::race;
      EXPECT_TRUE(race) << "barrier " << i << " of\n" << print(scheduled);
      ++removed;
    }
  }
  std::printf("%d barriers removed, one at a time\n", removed);
}

TEST(GpuSchedule, EveryWaitIsNeeded) {
  const DimValues symbols = {{"m", 9}, {"n", 21}, {"k", 37}};
  const TileFunction scheduled = schedule_for_gpu(parse(kMatmul), kAsync);
  const auto inputs = inputs_of(scheduled, symbols);
  ASSERT_TRUE(emulate_tile(scheduled, symbols, pointers(inputs)).faults.empty());
  int removed = 0;
  for (const char* name : {"wait_copies", "commit_copies"}) {
    for (int number = 0; number < 2; ++number, ++removed) {
      int at = 0;
      TileFunction worse = scheduled;
      worse.body = rewrite(
          worse.body,
          [&](const Stmt& s) -> Stmt {
            const auto* n = as<IntrinsicStmt>(s);
            return n && n->name == name && at++ == number ? make_stmt(BlockStmt{}) : s;
          },
          nullptr);
      ASSERT_EQ(at, 2) << print(scheduled);
      const Emulation e = emulate_tile(worse, symbols, pointers(inputs));
      bool found = false;
      for (const Fault& fault : e.faults) found = found || fault.kind == FaultKind::in_flight;
      EXPECT_TRUE(found) << name << " " << number << " of\n" << print(scheduled);
    }
  }
  std::printf("%d waits and commits removed, one at a time\n", removed);
}

TEST(GpuSchedule, EveryFragmentTileIsRight) {
  const TileFunction f = parse(kHalves);
  const auto form = compute_form(f);
  const auto tiles = contraction_tiles(f, *form, kMatrix);
  EXPECT_GE(tiles.size(), 10u);
  for (const DimValues& symbols :
       {DimValues{{"m", 19}, {"n", 11}, {"k", 41}}, DimValues{{"m", 1}, {"n", 40}, {"k", 16}}}) {
    const auto inputs = inputs_of(f, symbols);
    const auto want = run_tile(f, symbols, pointers(inputs));
    for (const ContractionTile& tile : tiles) {
      const TileFunction scheduled = schedule_contraction(f, *form, kMatrix, tile);
      const Emulation e = emulate_tile(scheduled, symbols, pointers(inputs));
      EXPECT_TRUE(e.faults.empty()) << tile.candidate().str() << "\n" << e.faults.front().str();
      EXPECT_EQ(e.outputs[0].f, want[0].f) << tile.candidate().str();
    }
  }
}

TEST(GpuSchedule, EveryCandidateIsRight) {
  const TileFunction f = parse(kMatmul);
  const auto form = compute_form(f);
  ASSERT_TRUE(form.has_value());
  const DimValues symbols = {{"m", 11}, {"n", 13}, {"k", 19}};
  const auto inputs = inputs_of(f, symbols);
  const auto want = run_tile(f, symbols, pointers(inputs));
  const auto tiny = contraction_tiles(kTiny), large = contraction_tiles(opencl_target());
  const auto check = [&](const GpuTarget& target, const ContractionTile& tile) {
    const TileFunction scheduled = schedule_contraction(f, *form, target, tile);
    const Emulation e = emulate_tile(scheduled, symbols, pointers(inputs));
    EXPECT_TRUE(e.faults.empty()) << tile.candidate().str() << "\n" << e.faults.front().str();
    EXPECT_EQ(e.outputs[0].f, want[0].f) << tile.candidate().str();
  };
  for (const ContractionTile& tile : tiny) check(kTiny, tile);
  for (size_t i = 0; i < large.size(); i += 7) check(opencl_target(), large[i]);
  EXPECT_GE(tiny.size(), 4u);
  EXPECT_GE(large.size(), 100u);
}

TEST(GpuSchedule, TheSpaceIsSmallAndIndependentOfTheInput) {
  const auto space = schedule_space(parse(kMatmul), opencl_target());
  EXPECT_GT(space.size(), 100u);
  EXPECT_LE(space.size(), kMaxCandidates);
  const auto other = schedule_space(parse(R"(
tile @f(%a: Buffer[(2039, 2039), f32], %b: Buffer[(2039, 2039), f32]) -> (%y: Buffer[(2039, 2039), f32]) {
  compute %y[i < 2039, j < 2039] = sum(p < 2039) %a[i, p] * %b[p, j]
})"),
                                    opencl_target());
  EXPECT_EQ(space, other);
  EXPECT_EQ(schedule_space(parse(kSoftmax), opencl_target()).size(), 1u);
}

}  // namespace
}  // namespace symtile::gpu
