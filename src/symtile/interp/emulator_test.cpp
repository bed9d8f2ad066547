// Planted faults: each is found with its kind and line, and the programs without them are clean.
#include "symtile/interp/emulator.h"

#include <gtest/gtest.h>

#include "symtile/interp/tile_interp.h"

namespace symtile {
namespace {

struct Program {
  const char* name;
  const char* text;
  DimValues symbols;
};

const Program kTranspose = {"transpose",
                            R"(
tile @transpose<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(n, m), f32]) {
  for b in 0 to ((m + 7) // 8) * ((n + 7) // 8) grid_block {
    alloc %s: Buffer[(8, 9), f32, shared] {
      for w in 0 to 2 block_warp {
        for l in 0 to 16 warp_lane {
          let i0 = b // ((n + 7) // 8) * 8 {
            let j0 = b % ((n + 7) // 8) * 8 {
              tasks (i, j) of repeat(2, 1) * spatial(4, 8) by w * 16 + l {
                if i0 + i < m && j0 + j < n {
                  %s[i, j] = %x[i0 + i, j0 + j]
                }
              }
              barrier shared
              tasks (j, i) of repeat(2, 1) * spatial(4, 8) by w * 16 + l {
                if i0 + i < m && j0 + j < n {
                  %y[j0 + j, i0 + i] = %s[i, j]
                }
              }
            }
          }
        }
      }
    }
  }
})",
                            {{"m", 11}, {"n", 13}}};

const Program kRowSum = {"row_sum",
                         R"(
tile @row_sum<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m), f32]) {
  for row in 0 to m grid_block {
    alloc %s: Buffer[(16), f32, shared] {
      for l in 0 to 16 warp_lane {
        alloc %acc: Buffer[(1), f32, local] {
          %acc[0] = 0.0f32
          for k in l to n step 16 {
            %acc[0] = %acc[0] + %x[row, k]
          }
          %s[l] = %acc[0]
          barrier shared
          for h in 0 to 4 {
            if l < 8 // (1 + h + h // 2 + h // 3 * 3) {
              %s[l] = %s[l] + %s[l + 8 // (1 + h + h // 2 + h // 3 * 3)]
            }
            barrier shared
          }
          if l == 0 {
            %y[row] = %s[0]
          }
        }
      }
    }
  }
})",
                         {{"m", 3}, {"n", 37}}};

const Program kMatmul = {"matmul",
                         R"(
tile @matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32]) -> (%c: Buffer[(m, n), f32]) {
  for block in 0 to ((m + 7) // 8) * ((n + 7) // 8) grid_block {
    alloc %as: Buffer[(2, 8, 4), f32, shared] {
      alloc %bs: Buffer[(2, 4, 8), f32, shared] {
        for lane in 0 to 32 warp_lane {
          let m0 = block // ((n + 7) // 8) * 8 {
            let n0 = block % ((n + 7) // 8) * 8 {
              alloc %acc: Buffer[(2), f32, local] {
                for r in 0 to 2 {
                  %acc[r] = 0.0f32
                }
                tasks (i, kk) of spatial(8, 4) by lane {
                  %as[0, i, kk] = select(m0 + i < m && kk < k, %a[m0 + i, kk], 0.0f32)
                }
                tasks (kk, j) of spatial(4, 8) by lane {
                  %bs[0, kk, j] = select(n0 + j < n && kk < k, %b[kk, n0 + j], 0.0f32)
                }
                barrier shared
                for t in 0 to (k + 3) // 4 {
                  if t + 1 < (k + 3) // 4 {
                    tasks (i, kk) of spatial(8, 4) by lane {
                      %as[(t + 1) % 2, i, kk] = select(m0 + i < m && t * 4 + 4 + kk < k, %a[m0 + i, t * 4 + 4 + kk], 0.0f32)
                    }
                    tasks (kk, j) of spatial(4, 8) by lane {
                      %bs[(t + 1) % 2, kk, j] = select(n0 + j < n && t * 4 + 4 + kk < k, %b[t * 4 + 4 + kk, n0 + j], 0.0f32)
                    }
                  }
                  for kk in 0 to 4 {
                    tasks (i, j) of repeat(2, 1) * spatial(4, 8) by lane {
                      %acc[i // 4] = %acc[i // 4] + %as[t % 2, i, kk] * %bs[t % 2, kk, j]
                    }
                  }
                  barrier shared
                }
                tasks (i, j) of repeat(2, 1) * spatial(4, 8) by lane {
                  if m0 + i < m && n0 + j < n {
                    %c[m0 + i, n0 + j] = %acc[i // 4]
                  }
                }
              }
            }
          }
        }
      }
    }
  }
})",
                         {{"m", 11}, {"n", 19}, {"k", 10}}};

const Program kScale = {"scale",
                        R"(
tile @scale<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {
  for b in 0 to (n + 31) // 32 grid_block {
    for l in 0 to 32 warp_lane {
      if b * 32 + l < n {
        %y[b * 32 + l] = %x[b * 32 + l] * 2.0f32
      }
    }
  }
})",
                        {{"n", 75}}};

const Program kTwoLaunches = {"two_launches",
                              R"(
tile @two_launches<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {
  alloc %t: Buffer[(n), f32, scratch] {
    for b in 0 to (n + 7) // 8 grid_block {
      for l in 0 to 8 warp_lane {
        if b * 8 + l < n {
          %t[b * 8 + l] = exp(%x[b * 8 + l])
        }
      }
    }
    for b in 0 to (n + 7) // 8 grid_block {
      for l in 0 to 8 warp_lane {
        if b * 8 + l < n {
          %y[b * 8 + l] = %t[n - 1 - (b * 8 + l)]
        }
      }
    }
  }
})",
                              {{"n", 20}}};

const Program kWorkspace = {"workspace",
                            R"(
tile @workspace<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m, n), f32]) {
  alloc %t: Buffer[(m, n), f32, scratch] {
    for b in 0 to m grid_block {
      for l in 0 to 8 warp_lane {
        for k in l to n step 8 {
          %t[b, k] = exp(%x[b, k])
        }
        barrier global
        for k in l to n step 8 {
          %y[b, k] = %t[b, n - 1 - k]
        }
      }
    }
  }
})",
                            {{"m", 3}, {"n", 21}}};

const Program kWarps = {"warps",
                        R"(
tile @warps<n>(%x: Buffer[(n, 32), f32]) -> (%y: Buffer[(n, 32), f32]) {
  for b in 0 to n grid_block {
    alloc %s: Buffer[(4, 8), f32, shared] {
      for w in 0 to 4 block_warp {
        for l in 0 to 8 warp_lane {
          %s[w, l] = %x[b, w * 8 + l]
          barrier warp
          %y[b, w * 8 + l] = %s[w, 7 - l]
        }
      }
    }
  }
})",
                        {{"n", 2}}};

const Program kParallel = {"parallel",
                           R"(
tile @parallel<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m), f32]) {
  for i in 0 to m parallel {
    alloc %t: Buffer[(1), f32, scratch] {
      %t[0] = 0.0f32
      for k in 0 to n {
        %t[0] = %t[0] + %x[i, k]
      }
      %y[i] = %t[0]
    }
  }
})",
                           {{"m", 5}, {"n", 7}}};

/// Tiles of x are copied while the one before is added up: two halves of shared memory.
const Program kCopies = {"copies",
                         R"(
tile @copies<m, n>(%x: Buffer[(m, n), f32]) -> (%y: Buffer[(m), f32])
    facts { 0 <= m; 0 <= n } {
  for b in 0 to m grid_block {
    alloc %s: Buffer[(2, 16), f32, shared] {
      for l in 0 to 4 warp_lane {
        alloc %acc: Buffer[(1), f32, local] {
          %acc[0] = 0.0f32
          if l * 4 + 4 <= n {
            intrinsic copy_async(%s[0, l * 4], %x[b, l * 4], 4)
          } else {
            for e in 0 to 4 {
              if l * 4 + e < n {
                intrinsic copy_async(%s[0, l * 4 + e], %x[b, l * 4 + e], 1)
              } else {
                %s[0, l * 4 + e] = 0.0f32
              }
            }
          }
          intrinsic commit_copies()
          for t in 0 to (n + 15) // 16 {
            for e in 0 to 4 {
              if t * 16 + 16 + l * 4 + e < n {
                intrinsic copy_async(%s[(t + 1) % 2, l * 4 + e], %x[b, t * 16 + 16 + l * 4 + e], 1)
              } else {
                %s[(t + 1) % 2, l * 4 + e] = 0.0f32
              }
            }
            intrinsic commit_copies()
            intrinsic wait_copies(1)
            barrier shared
            for e in 0 to 16 {
              %acc[0] = %acc[0] + %s[t % 2, e]
            }
            barrier shared
          }
          intrinsic wait_copies(0)
          if l == 0 {
            %y[b] = %acc[0]
          }
        }
      }
    }
  }
})",
                         {{"m", 3}, {"n", 41}}};

/// One product of matrices, by a warp.
const Program kMma = {"mma",
                      R"(
tile @mma<n>(%a: Buffer[(n, 16, 16), f16], %b: Buffer[(16, 8), f16]) -> (%c: Buffer[(n, 16, 8), f32])
    facts { 0 <= n } {
  for block in 0 to n grid_block {
    alloc %as: Buffer[(16, 24), f16, shared] {
      alloc %bs: Buffer[(16, 8), f16, shared] {
        for lane in 0 to 32 warp_lane {
          alloc %acc: Buffer[(4), f32, local] {
            for r in 0 to 4 {
              %acc[r] = 0.0f32
            }
            tasks (i, j) of repeat(4, 2) * spatial(4, 8) by lane {
              %as[i, j] = %a[block, i, j]
            }
            tasks (i, j) of repeat(4, 1) * spatial(4, 8) by lane {
              %bs[i, j] = %b[i, j]
            }
            barrier shared
            intrinsic mma_m16n8k16(lane, %acc[0], %as[0, 0], %bs[0, 0])
            for r in 0 to 4 {
              %c[block, lane // 4 + r // 2 * 8, lane % 4 * 2 + r % 2] = %acc[r]
            }
          }
        }
      }
    }
  }
})",
                      {{"n", 2}}};

struct Plant {
  const char* name;
  const Program* program;
  const char* from;  ///< occurs in the program; its first occurrence is replaced
  const char* to;
  FaultKind kind;
  const char* line;  ///< part of the line that is reported
};

const std::vector<Plant> kPlants = {
    {"MissingBarrier", &kTranspose, "barrier shared", "block {}", FaultKind::race,
     "%y[j0 + j, i0 + i] = %s[i, j]"},
    {"MissingLoadGuard", &kTranspose, "if i0 + i < m && j0 + j < n", "if i0 + i < m",
     FaultKind::out_of_bounds, "= %x[i0 + i, j0 + j]"},
    {"WrongTileExtent", &kTranspose, "Buffer[(8, 9), f32, shared]", "Buffer[(8, 7), f32, shared]",
     FaultKind::out_of_bounds, "%s[i, j] = %x[i0 + i, j0 + j]"},
    {"TooFewBlocks", &kTranspose, "((m + 7) // 8) * ((n + 7) // 8) grid_block",
     "(m // 8) * ((n + 7) // 8) grid_block", FaultKind::never_written, "tile @transpose"},
    {"WrongWorker", &kTranspose, "spatial(4, 8) by w * 16 + l", "spatial(4, 8) by w * 8 + l",
     FaultKind::race, "%s[i, j] = %x[i0 + i, j0 + j]"},
    {"WorkerBeyondMapping", &kTranspose, "spatial(4, 8) by w * 16 + l",
     "spatial(4, 8) by w * 17 + l", FaultKind::uninitialised_read, "%y[j0 + j, i0 + i] = %s[i, j]"},
    {"WrongRowStride", &kTranspose, "b // ((n + 7) // 8) * 8", "b // ((n + 7) // 8) * 4",
     FaultKind::block_conflict, "%y[j0 + j, i0 + i]"},
    {"MissingInitialisation", &kRowSum, "%acc[0] = 0.0f32", "block {}",
     FaultKind::uninitialised_read, "%acc[0] = %acc[0] + %x[row, k]"},
    {"DivergentBarrier", &kRowSum, "            }\n            barrier shared",
     "            barrier shared }", FaultKind::divergent_barrier, "barrier shared"},
    {"MissingBarrierInTree", &kRowSum, "            }\n            barrier shared", "            }",
     FaultKind::race, "%s[l] = %s[l] + %s[l + 8"},
    {"OffByOneInTree", &kRowSum, "if l < 8 // (1 + h", "if l <= 8 // (1 + h", FaultKind::race,
     "%s[l] = %s[l] + %s[l + 8"},
    {"LoopOneTooFar", &kRowSum, "for k in l to n step", "for k in l to n + 1 step",
     FaultKind::out_of_bounds, "%acc[0] = %acc[0] + %x[row, k]"},
    {"EveryLaneWrites", &kRowSum, "if l == 0", "if l < 2", FaultKind::race, "%y[row] = %s[0]"},
    {"SwappedBuffer", &kMatmul, "%as[(t + 1) % 2, i, kk]", "%as[t % 2, i, kk]", FaultKind::race,
     "%as[t % 2, i, kk]"},
    {"WrongBufferRead", &kMatmul, "%bs[t % 2, kk, j]", "%bs[(t + 1) % 2, kk, j]", FaultKind::race,
     "%bs[(t + 1) % 2, kk, j]"},
    {"SingleBuffer", &kMatmul, "%bs[(t + 1) % 2, kk, j]", "%bs[0, kk, j]", FaultKind::race,
     "%acc[i // 4] = %acc[i // 4] +"},
    {"MissingBarrierBehindTile", &kMatmul, "                  }\n                  barrier shared",
     "                  }", FaultKind::race, "%as["},
    {"MissingPredicate", &kMatmul, "select(m0 + i < m && t * 4", "select(t * 4",
     FaultKind::out_of_bounds, "%a[m0 + i, t * 4 + 4 + kk]"},
    {"WrongTail", &kMatmul, "kk < k, %a[m0 + i, t", "kk < k + 2, %a[m0 + i, t",
     FaultKind::out_of_bounds, "%a[m0 + i, t * 4 + 4 + kk]"},
    {"MissingAccumulatorInit", &kMatmul, "for r in 0 to 2 {", "for r in 0 to 1 {",
     FaultKind::uninitialised_read, "%acc[i // 4] = %acc[i // 4] +"},
    {"TileNotFilled", &kMatmul, "spatial(4, 8) by lane {\n                  %bs[0",
     "spatial(4, 7) by lane % 28 {\n                  %bs[0", FaultKind::uninitialised_read,
     "%acc[i // 4] = %acc[i // 4] +"},
    {"MissingStoreGuard", &kMatmul, "if m0 + i < m && n0 + j < n {", "if m0 + i < m {",
     FaultKind::out_of_bounds, "%c[m0 + i, n0 + j]"},
    {"WrongColumnStride", &kMatmul, "% ((n + 7) // 8) * 8 {", "% ((n + 7) // 8) * 6 {",
     FaultKind::block_conflict, "%c[m0 + i, n0 + j]"},
    {"GuardOffByOne", &kScale, "l < n", "l <= n", FaultKind::out_of_bounds, "%y[b * 32 + l]"},
    {"OverlappingBlocks", &kScale, "%y[b * 32 + l]", "%y[b * 16 + l]", FaultKind::block_conflict,
     "%y[b * 16 + l]"},
    {"LastBlockForgotten", &kScale, "(n + 31) // 32", "n // 32", FaultKind::never_written,
     "tile @scale"},
    {"OneLaunchForTwo", &kTwoLaunches,
     "        }\n      }\n    }\n    for b in 0 to (n + 7) // 8 grid_block {\n      for l in 0 to "
     "8 "
     "warp_lane {",
     "        }", FaultKind::block_conflict, "= %t[n - 1"},
    {"BarrierOfTheWrongMemory", &kWorkspace, "barrier global", "barrier shared", FaultKind::race,
     "%y[b, k] = %t[b, n - 1 - k]"},
    {"WorkspaceOfAnotherBlock", &kWorkspace, "%t[b, n - 1 - k]", "%t[(b + 1) % m, n - 1 - k]",
     FaultKind::block_conflict, "%t["},
    {"WarpBarrierForBlock", &kWarps, "= %s[w, 7 - l]", "= %s[3 - w, 7 - l]", FaultKind::race,
     "= %s[3 - w, 7 - l]"},
    {"DivergentWarpBarrier", &kWarps, "barrier warp", "if l < 4 { barrier warp }",
     FaultKind::divergent_barrier, "barrier warp"},
    {"IterationsShareAnElement", &kParallel, "%y[i]", "%y[i // 2]", FaultKind::block_conflict,
     "%y[i // 2] = %t[0]"},
    {"IterationReadsAnother", &kParallel, "= %t[0]\n    }",
     "= %t[0] + select(i > 0, %y[max(i - 1, 0)], 0.0f32)\n    }", FaultKind::block_conflict,
     "%y[i] ="},
    {"MissingWait", &kCopies, "intrinsic wait_copies(1)", "block {}", FaultKind::in_flight,
     "%acc[0] = %acc[0] + %s[t % 2, e]"},
    {"EarlyRead", &kCopies, "intrinsic wait_copies(1)", "intrinsic wait_copies(2)",
     FaultKind::in_flight, "%acc[0] = %acc[0] + %s[t % 2, e]"},
    {"MissingCommit", &kCopies, "            intrinsic commit_copies()\n            intrinsic wait",
     "            intrinsic wait", FaultKind::in_flight, "%acc[0] = %acc[0] + %s[t % 2, e]"},
    {"OverwrittenInFlight", &kCopies, "            intrinsic wait_copies(1)",
     "            %s[(t + 1) % 2, l * 4] = 0.0f32\n            intrinsic wait_copies(1)",
     FaultKind::in_flight, "%s[(t + 1) % 2, l * 4] = 0.0f32"},
    {"NeverWaitedFor", &kCopies, "            %y[b] = %acc[0]",
     "            %y[b] = %acc[0]\n            intrinsic copy_async(%s[0, 0], %x[b, 0], 1)",
     FaultKind::in_flight, "intrinsic copy_async(%s[0, 0], %x[b, 0], 1)"},
    {"WaitWithoutBarrier", &kCopies, "wait_copies(1)\n            barrier shared", "wait_copies(1)",
     FaultKind::race, "%acc[0] = %acc[0] + %s[t % 2, e]"},
    {"CopyOverWhatIsRead", &kCopies, "            }\n            barrier shared\n          }",
     "            }\n          }", FaultKind::race, "%s[(t + 1) % 2, l * 4 + e]"},
    {"CopyOutOfBounds", &kCopies, "%x[b, l * 4], 4)", "%x[b, l * 4 + 32], 4)",
     FaultKind::out_of_bounds, "intrinsic copy_async(%s[0, l * 4], %x[b, l * 4 + 32], 4)"},
    {"MatrixBeforeBarrier", &kMma, "            barrier shared\n", "", FaultKind::race,
     "intrinsic mma_m16n8k16"},
    {"MatrixOfHalfAWarp", &kMma,
     "            intrinsic mma_m16n8k16(lane, %acc[0], %as[0, 0], "
     "%bs[0, 0])",
     "            if lane < 16 { intrinsic mma_m16n8k16(lane, %acc[0], %as[0, 0], %bs[0, 0]) }",
     FaultKind::divergent_barrier, "intrinsic mma_m16n8k16"},
    {"MatrixOutside", &kMma, "%as[0, 0]", "%as[1, 0]", FaultKind::out_of_bounds,
     "intrinsic mma_m16n8k16"},
    {"ScratchOfAllIterations", &kParallel,
     "for i in 0 to m parallel {\n    alloc %t: Buffer[(1), f32, scratch] {",
     "alloc %t: Buffer[(1), f32, scratch] {\n    for i in 0 to m parallel {",
     FaultKind::block_conflict, "%t[0]"},
};

TileFunction parse(const std::string& text, const char* name) {
  const Module m = parse_module(text);
  verify(m);
  return m.tile(name);
}

std::vector<RefTensor> inputs_of(const TileFunction& f, const DimValues& symbols) {
  std::vector<RefTensor> out;
  int seed = 1;
  for (const Buffer& b : f.inputs) {
    std::vector<int64_t> dims;
    for (const DimExpr& d : b.dims) dims.push_back(d.evaluate(symbols));
    RefTensor t(b.dtype, dims);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>((i * 7 + seed) % 11) - 5);
    out.push_back(std::move(t));
    ++seed;
  }
  return out;
}

Emulation emulate(const TileFunction& f, const DimValues& symbols) {
  const std::vector<RefTensor> inputs = inputs_of(f, symbols);
  std::vector<const RefTensor*> pointers;
  for (const RefTensor& t : inputs) pointers.push_back(&t);
  return emulate_tile(f, symbols, pointers);
}

std::string all_faults(const Emulation& e) {
  std::string out;
  for (const Fault& f : e.faults) out += f.str() + "\n";
  return out;
}

TEST(Emulator, ProgramsWithoutFaultsAreClean) {
  for (const Program* p : {&kTranspose, &kMatmul, &kScale, &kTwoLaunches, &kWorkspace, &kWarps,
                           &kParallel, &kRowSum, &kCopies, &kMma}) {
    const TileFunction f = parse(p->text, p->name);
    for (const int64_t change : {0, 1, 5, -100}) {
      DimValues symbols = p->symbols;
      for (auto& entry : symbols) entry.second = std::max<int64_t>(entry.second + change, 0);
      EXPECT_EQ(all_faults(emulate(f, symbols)), "") << p->name << " " << change;
    }
  }
}

TEST(Emulator, ComputesWhatItShould) {
  // Against plain sums: lanes in order would hide a barrier's work, so the interpreter cannot
  // judge.
  const TileFunction f = parse(kMatmul.text, "matmul");
  const auto inputs = inputs_of(f, kMatmul.symbols);
  const Emulation e = emulate(f, kMatmul.symbols);
  for (int64_t i = 0; i < 11; ++i) {
    for (int64_t j = 0; j < 19; ++j) {
      double want = 0;
      for (int64_t k = 0; k < 10; ++k)
        want += inputs[0].as_double(i * 10 + k) * inputs[1].as_double(k * 19 + j);
      ASSERT_EQ(e.outputs[0].as_double(i * 19 + j), want) << i << " " << j;
    }
  }
}

TEST(Emulator, FindsPlantedFaults) {
  int found = 0;
  for (const Plant& plant : kPlants) {
    std::string text = plant.program->text;
    const size_t at = text.find(plant.from);
    ASSERT_NE(at, std::string::npos) << plant.name;
    text.replace(at, std::string(plant.from).size(), plant.to);
    const TileFunction f = parse(text, plant.program->name);
    const Emulation e = emulate(f, plant.program->symbols);
    bool right = false;
    for (const Fault& fault : e.faults) {
      right =
          right || (fault.kind == plant.kind && fault.text.find(plant.line) != std::string::npos);
    }
    EXPECT_TRUE(right) << plant.name << " wants " << name_of(plant.kind) << " at " << plant.line
                       << ", found:\n"
                       << all_faults(e);
    found += right;
  }
  std::printf("%d of %zu planted faults found\n", found, kPlants.size());
}

TEST(Emulator, ReportsTheLineOfThePrintedProgram) {
  const std::string text = R"(
tile @lines<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32])
    facts { 1 <= n <= 8 }
    attrs {op = "x"} {
  block {
    let a = 1 {
      for i in 0 to n {
        if i < a {
          %y[i] = 0.0f32
        } else {
          block {
            %y[i] = %x[i + a]
          }
        }
      }
    }
  }
})";
  const TileFunction f = parse(text, "lines");
  const Emulation e = emulate(f, {{"n", 3}});
  ASSERT_EQ(e.faults.size(), 1u) << all_faults(e);
  EXPECT_EQ(e.faults[0].kind, FaultKind::out_of_bounds);
  std::istringstream printed(print(f));
  std::string line;
  for (int i = 0; i < e.faults[0].line; ++i) std::getline(printed, line);
  EXPECT_NE(line.find("%y[i] = %x[i + a]"), std::string::npos) << line;
  EXPECT_NE(line.find(e.faults[0].text), std::string::npos);
}

TEST(Emulator, AgreesWithTheInterpreterOnReductions) {
  const TileFunction f = parse(R"(
tile @reductions<n>(%x: Buffer[(4, n), f32]) -> (%y: Buffer[(4), f32], %z: Buffer[(4), i64]) {
  for b in 0 to 2 grid_block {
    for l in 0 to 2 warp_lane {
      %y[b * 2 + l] = (sum(k < n) %x[b * 2 + l, k]) + (max(k < n) %x[b * 2 + l, k]) * (min(k < n) %x[b * 2 + l, k])
      %z[b * 2 + l] = argmax_last(k < n) %x[b * 2 + l, k]
    }
  }
})",
                               "reductions");
  const DimValues symbols = {{"n", 9}};
  const auto inputs = inputs_of(f, symbols);
  const Emulation e = emulate(f, symbols);
  EXPECT_EQ(all_faults(e), "");
  const auto want = run_tile(f, symbols, {&inputs[0]});
  EXPECT_EQ(e.outputs[0].f, want[0].f);
  EXPECT_EQ(e.outputs[1].i, want[1].i);
}

}  // namespace
}  // namespace symtile
