// Hand-written GPU kernels in text form on the device, against the interpreter, at extents that
// divide nothing; and the errors of devices.
#include "device_run.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/interp/tile_interp.h"
#include "symtile/op/op.h"

namespace symtile::test {
namespace {

TileFunction tile(const std::string& text) {
  Module module = parse_module(text, "test");
  verify(module, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
  return module.tile(module.tile_names().front());
}

const char* kMatmul = R"(
tile @matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32]) -> (%c: Buffer[(m, n), f32]) {
  for block in 0 to ((m + 15) // 16) * ((n + 15) // 16) grid_block {
    let bi = block // ((n + 15) // 16) * 16 {
      let bj = block % ((n + 15) // 16) * 16 {
        alloc %as: Buffer[(16, 8), f32, shared] {
          alloc %bs: Buffer[(8, 16), f32, shared] {
            for w in 0 to 2 block_warp {
              for l in 0 to 32 warp_lane {
                alloc %acc: Buffer[(4), f32, local] {
                  tasks (i, j) of spatial(8, 8) * repeat(2, 2) by w * 32 + l {
                    %acc[i % 2 * 2 + j % 2] = 0.0f32
                  }
                  for kt in 0 to (k + 7) // 8 {
                    tasks (i, j) of repeat(2, 1) * spatial(8, 8) by w * 32 + l {
                      %as[i, j] = select(bi + i < m && kt * 8 + j < k, %a[bi + i, kt * 8 + j], 0.0f32)
                    }
                    tasks (i, j) of spatial(8, 8) * repeat(1, 2; 1, 0) by w * 32 + l {
                      %bs[i, j] = select(kt * 8 + i < k && bj + j < n, %b[kt * 8 + i, bj + j], 0.0f32)
                    }
                    barrier shared
                    for p in 0 to 8 unrolled {
                      tasks (i, j) of spatial(8, 8) * repeat(2, 2) by w * 32 + l {
                        %acc[i % 2 * 2 + j % 2] = %acc[i % 2 * 2 + j % 2] + %as[i, p] * %bs[p, j]
                      }
                    }
                    barrier shared
                  }
                  tasks (i, j) of spatial(8, 8) * repeat(2, 2) by w * 32 + l {
                    if bi + i < m && bj + j < n {
                      %c[bi + i, bj + j] = %acc[i % 2 * 2 + j % 2]
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}
)";

const char* kMatmulComputed = R"(
tile @matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32]) -> (%c: Buffer[(m, n), f32]) {
  compute %c[i < m, j < n] = sum(p < k) %a[i, p] * %b[p, j]
}
)";

/// For kernels with barriers: the interpreter runs lanes one after another, so it runs the
/// compute form of the same function.
void expect_as_computed(const TileFunction& f, const char* computed, const DimValues& symbols,
                        const std::vector<Constant>& inputs, double tolerance = 1e-6) {
  const TileFunction reference = tile(computed);
  std::vector<RefTensor> arguments;
  for (const Constant& c : inputs) arguments.push_back(RefTensor::from_constant(*c));
  std::vector<const RefTensor*> pointers;
  for (const RefTensor& t : arguments) pointers.push_back(&t);
  expect_close(run_on_opencl(f, symbols, inputs), run_tile(reference, symbols, pointers),
               tolerance);
}

TEST(OpenclKernels, TiledMatmul) {
  SKIP_WITHOUT_OPENCL();
  const TileFunction f = tile(kMatmul);
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{17, 33, 9}, {1, 1, 1}, {16, 16, 8}, {5, 31, 0}, {0, 7, 3}}) {
    expect_as_computed(
        f, kMatmulComputed, {{"m", m}, {"n", n}, {"k", k}},
        {random_constant(DType::f32, {m, k}, 1), random_constant(DType::f32, {k, n}, 2)});
  }
}

TEST(OpenclKernels, AWorkerBeyondTheMappingHasNoTasks) {
  SKIP_WITHOUT_OPENCL();
  // 32 lanes for a mapping of n workers; lane 0 is worker -1.
  const TileFunction f = tile(R"(
tile @some<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {
  for block in 0 to 1 grid_block {
    for l in 0 to 32 warp_lane {
      tasks (i) of spatial(n) by l - 1 { %y[i] = %x[i] + 1.0f32 }
    }
  }
}
)");
  for (const int64_t n : {0, 1, 7, 31}) {
    const Constant x = random_constant(DType::f32, {n}, 3);
    const RefTensor reference = RefTensor::from_constant(*x);
    expect_close(run_on_opencl(f, {{"n", n}}, {x}), run_tile(f, {{"n", n}}, {&reference}), 0);
  }
}

// What @rows computes.
const char* kRowsComputed = R"(
tile @rows<r, n>(%x: Buffer[(r, n), f16]) -> (%y: Buffer[(r, n), f16], %best: Buffer[(r), i64])
    facts { 1 <= n <= 4096 } {
  alloc %sums: Buffer[(r), f32] {
    compute %sums[i < r] = sum(k < n) exp(cast<f32>(%x[i, k]))
    compute %y[i < r, j < n] = cast<f16>(exp(cast<f32>(%x[i, j])) / %sums[i])
    compute %best[i < r] = argmax_last(k < n) %x[i, k]
  }
}
)";

// Rows in a workspace between two launches; a tree over shared memory; f16 in and out.
const char* kRows = R"(
tile @rows<r, n>(%x: Buffer[(r, n), f16]) -> (%y: Buffer[(r, n), f16], %best: Buffer[(r), i64])
    facts { 1 <= n <= 4096 } {
  alloc %sums: Buffer[(r), f32, scratch] {
    alloc %unused: Buffer[(r * 3), u8, scratch] {
      for row in 0 to r grid_block {
        alloc %part: Buffer[(32), f32, shared] {
          for l in 0 to 32 warp_lane {
            alloc %sum: Buffer[(1), f32, local] {
              %sum[0] = 0.0f32
              for i in 0 to (n + 31) // 32 {
                if i * 32 + l < n {
                  %sum[0] = %sum[0] + exp(cast<f32>(%x[row, i * 32 + l]))
                }
              }
              %part[l] = %sum[0]
              barrier shared
              for s in 0 to 5 {
                if l < shr(16, s) {
                  %part[l] = %part[l] + %part[l + shr(16, s)]
                }
                barrier shared
              }
              if l == 0 {
                %sums[row] = %part[0]
              }
            }
          }
        }
      }
      for block in 0 to (r * n + 63) // 64 grid_block {
        for w in 0 to 2 block_warp {
          for l in 0 to 32 warp_lane {
            let at = block * 64 + w * 32 + l {
              if at < r * n {
                %y[at // n, at % n] = cast<f16>(exp(cast<f32>(%x[at // n, at % n])) / %sums[at // n])
              }
              if at < r {
                %best[at] = argmax_last(k < n) %x[at, k]
              }
            }
          }
        }
      }
    }
  }
}
)";

TEST(OpenclKernels, TwoLaunchesWithAWorkspace) {
  SKIP_WITHOUT_OPENCL();
  const TileFunction f = tile(kRows);
  for (const auto& [r, n] : {std::pair<int64_t, int64_t>{3, 37}, {1, 1}, {70, 5}, {2, 64}}) {
    expect_as_computed(f, kRowsComputed, {{"r", r}, {"n", n}},
                       {random_constant(DType::f16, {r, n}, 3)}, 2e-3);
  }
}

// What stands in an arm of select is not evaluated outside it; shared subtrees; reductions in arms.
TEST(OpenclKernels, GuardedLoads) {
  SKIP_WITHOUT_OPENCL();
  const TileFunction f = tile(R"(
tile @guarded<n>(%x: Buffer[(n), f32], %i: Buffer[(n), i32]) -> (%y: Buffer[(n + 4), f32]) {
  for b in 0 to n + 4 grid_block {
    let at = cast<i64>(select(b < n, %i[b], 0i32)) {
      if b >= 2 && b < n + 2 {
        let v = %x[b - 2] {
          %y[b] = v * v + select(b % 3 == 0, sum(k < b - 1) %x[k] * v, select(at < n, %x[at], v))
        }
      } else {
        %y[b] = select(b < n, max(k < 3) %x[b] + cast<f32>(k), -1.5f32)
      }
    }
  }
}
)");
  for (const int64_t n : {1, 2, 7, 33}) {
    Constant index = random_constant(DType::i32, {n}, 5);
    expect_as_interpreted(f, {{"n", n}}, {random_constant(DType::f32, {n}, 4), index});
  }
}

const char* kGraph = R"(
graph @main(%x: Tensor[(n), f32]) -> (Tensor[(n), f32]) {
  %0 = call_tile @twice(%x) [n] : Tensor[(n), f32]
  return %0
}
tile @twice<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {
  for b in 0 to n grid_block {
    %y[b] = %x[b] + %x[b]
  }
}
)";

TEST(OpenclDevice, OneSessionAtManyShapesAndSeveralSessions) {
  SKIP_WITHOUT_OPENCL();
  CompileOptions options;
  options.targets = {"opencl"};
  const auto bytes = format::artifact_bytes(compile(parse_module(kGraph, "test"), options).parts());
  const api::Model model(bytes.data(), bytes.size());
  api::Session first(model, 1, true, "opencl"), second(model, 1, false, "opencl");
  for (const int64_t n : {3, 0, 1000, 1}) {
    const Constant x = random_constant(DType::f32, {n}, 7);
    for (api::Session* session : {&first, &second}) {
      const std::vector<Constant> y = run_session(*session, {x});
      ASSERT_EQ(y[0]->dims, x->dims);
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(y[0]->as_double(i), 2 * x->as_double(i));
    }
  }
  symtile_session_trim(first.get());
  EXPECT_EQ(run_session(first, {random_constant(DType::f32, {5}, 7)})[0]->dims,
            std::vector<int64_t>{5});
}

TEST(OpenclDevice, ErrorsSayWhatToDo) {
  const auto message = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "no error";
  };
  CompileOptions options;
  options.targets = {"opencl"};
  const auto bytes = format::artifact_bytes(compile(parse_module(kGraph, "test"), options).parts());
  const api::Model device_only(bytes.data(), bytes.size());
  EXPECT_NE(message([&] { api::Session(device_only, 1); }).find("code only for opencl"),
            std::string::npos);
  EXPECT_NE(message([&] { api::Session(device_only, 1, false, "abacus"); }).find("--target abacus"),
            std::string::npos);
  options.targets = {"abacus"};
  EXPECT_NE(message([&] {
              compile(parse_module(kGraph, "test"), options);
            }).find("error[unknown_name]: there is no target 'abacus'"),
            std::string::npos);
}

}  // namespace
}  // namespace symtile::test
