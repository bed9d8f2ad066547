#include "symtile/ir/tile_dsl.h"

#include <gtest/gtest.h>

#include "symtile/ir/module.h"

namespace symtile::dsl {
namespace {

/// Prints, parses and compares: every program of the DSL is an ordinary tile function.
std::string round_trip(const TileFunction& f) {
  const std::string text = print(f);
  const Module module = parse_module(text);
  EXPECT_TRUE(structurally_equal(module.tile(f.name), f)) << text;
  verify(module);
  return text;
}

TEST(TileDsl, ScaleIsTheTextOneWouldWrite) {
  TileBuilder t("scale");
  const Expr n = t.symbol("n");
  t.assume("n % 4 == 0");
  const Tensor x = t.input("x", DType::f32, {n}), y = t.output("y", DType::f32, {n});
  t.parallel("b", 0, ceildiv(n, 128), [&](Expr b) {
    const Expr base = t.let("base", b * 128);
    t.for_each(repeat(32), 0, [&](Expr i) {
      t.vectorized("l", 0, 4, [&](Expr l) {
        const Expr at = base + i * 4 + l;
        t.when(at < n, [&] { y(at) = x(at) * imm(DType::f32, 2); });
      });
    });
  });
  EXPECT_EQ(round_trip(t.build()),
            "tile @scale<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32])\n"
            "    facts { n % 4 == 0 } {\n"
            "  for b in 0 to (n + 127) // 128 parallel {\n"
            "    let base = b * 128 {\n"
            "      tasks (i) of repeat(32) by 0 {\n"
            "        for l in 0 to 4 vectorized {\n"
            "          if base + i * 4 + l < n {\n"
            "            %y[base + i * 4 + l] = %x[base + i * 4 + l] * 2.0f32\n"
            "          }\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

/// The paper's matmul: blocks, double-buffered tiles in shared memory, register tiles.
TileFunction paper_matmul() {
  constexpr int kTileK = 8;
  TileBuilder t("matmul");
  const Expr m = t.symbol("m"), n = t.symbol("n"), k = t.symbol("k");
  const Tensor a = t.input("a", DType::f32, {m, k}), b = t.input("b", DType::f32, {k, n});
  const Tensor c = t.output("c", DType::f32, {m, n});
  const TaskMapping warps = spatial(4, 2) * repeat(2, 2), lanes = spatial(4, 8) * repeat(4, 4);
  const TaskMapping blocks = spatial(ceildiv(m, 128), ceildiv(n, 128));
  t.grid_block("block", 0, to_expr(blocks.workers()), [&](Expr block) {
    const Tensor sa = t.shared("sa", DType::f32, {2, 128, kTileK});
    // Columns are swizzled, so that lanes of one column meet different banks.
    const Tensor sb =
        t.shared("sb", DType::f32, DataLayout::row_major({2, kTileK, 128}).swizzle(2, 1, 0));
    t.block_warp("warp", 0, 8, [&](Expr warp) {
      t.warp_lane("lane", 0, 32, [&](Expr lane) {
        const Expr thread = t.let("thread", warp * 32 + lane);
        const Tensor acc = t.local("acc", DType::f32,
                                   DataLayout::local({4, 2}) * DataLayout::row_major({2, 2}) *
                                       DataLayout::local({4, 8}) * DataLayout::row_major({4, 4}));
        t.for_each(blocks, block, [&](Expr bi, Expr bj) {
          t.for_each(warps * lanes, thread, [&](Expr i, Expr j) { acc(i, j) = 0.0; });
          t.serial("k0", 0, ceildiv(k, kTileK), [&](Expr k0) {
            t.for_each(repeat(4, 1) * spatial(32, 8), thread, [&](Expr i, Expr p) {
              const Expr row = bi * 128 + i, col = k0 * kTileK + p;
              sa(k0 % 2, i, p) = predicated(row < m && col < k, a(row, col));
            });
            t.for_each(repeat(4, 1) * spatial(2, 128), thread, [&](Expr p, Expr j) {
              const Expr row = k0 * kTileK + p, col = bj * 128 + j;
              sb(k0 % 2, p, j) = predicated(row < k && col < n, b(row, col));
            });
            t.barrier();
            t.serial("p", 0, kTileK, [&](Expr p) {
              t.for_each(warps * lanes, thread,
                         [&](Expr i, Expr j) { acc(i, j) += sa(k0 % 2, i, p) * sb(k0 % 2, p, j); });
            });
          });
          t.for_each(warps * lanes, thread, [&](Expr i, Expr j) {
            const Expr row = bi * 128 + i, col = bj * 128 + j;
            t.when(row < m && col < n, [&] { c(row, col) = acc(i, j); });
          });
        });
      });
    });
  });
  return t.build();
}

TEST(TileDsl, ThePaperMatmul) {
  const TileFunction f = paper_matmul();
  const std::string text = round_trip(f);
  EXPECT_NE(text.find("spatial(4, 2) * repeat(2, 2) * spatial(4, 8) * repeat(4, 4) by thread"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("alloc %acc: Buffer[(64), f32, local]"), std::string::npos) << text;
  EXPECT_NE(text.find("bit_xor("), std::string::npos) << "the swizzle is one instruction\n" << text;
  EXPECT_TRUE(f.is_scheduled());
}

TEST(TileDsl, ComputeStagesAndReductions) {
  TileBuilder t("matmul");
  const Expr m = t.symbol("m"), n = t.symbol("n"), k = t.symbol("k");
  const Tensor a = t.input("a", DType::f32, {m, k}), b = t.input("b", DType::f32, {k, n});
  const Tensor c = t.output("c", DType::f32, {m, n});
  t.compute(c, [&](Expr i, Expr j) {
    return t.sum({k}, [&](Expr p) { return Expr(a(i, p)) * b(p, j); });
  });
  EXPECT_EQ(round_trip(t.build()),
            "tile @matmul<m, n, k>(%a: Buffer[(m, k), f32], %b: Buffer[(k, n), f32]) -> (%c: "
            "Buffer[(m, n), f32]) {\n"
            "  compute %c[i0 < m, i1 < n] = sum(k0 < k) %a[i0, k0] * %b[k0, i1]\n"
            "}\n");
}

TEST(TileDsl, ProjectedMappingsForceCoordinates) {
  TileBuilder t("rows");
  const Tensor x = t.input("x", DType::f32, {4}), y = t.output("y", DType::f32, {4});
  t.serial("w", 0, 8, [&](Expr w) {
    t.for_each(projection(spatial(2, 2), {1}) * ProjectedMapping(spatial(2, 1)), w,
               [&](Expr i, Expr j) {
                 EXPECT_TRUE(j.dtype() == DType::i64);
                 y(i) = x(i);
               });
  });
  EXPECT_EQ(round_trip(t.build()),
            "tile @rows(%x: Buffer[(4), f32]) -> (%y: Buffer[(4), f32]) {\n"
            "  for w in 0 to 8 {\n"
            "    let worker = w {\n"
            "      tasks (i, j) of spatial(2, 2) by worker // 2 {\n"
            "        tasks (i_1, j_1) of spatial(2, 1) by worker % 2 {\n"
            "          %y[i * 2 + i_1] = %x[i * 2 + i_1]\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(TileDsl, IntrinsicsElseAndNames) {
  TileBuilder t("f");
  const Tensor x = t.input("x", DType::f32, {8}), y = t.output("y", DType::f32, {8});
  for (int pass = 0; pass < 2; ++pass) {
    t.serial("i", 0, 8, [&](Expr i) {
      const Tensor tmp = t.local("tmp", DType::f32, {1});
      tmp(0) = x(i);
      t.intrinsic("prefetch", {x(i), 1});
      t.when(i < 4, [&] { y(i) = tmp(0); }, [&] { y(i) = -1.0; });
    });
  }
  const std::string text = round_trip(t.build());
  EXPECT_NE(text.find("for i_1 in 0 to 8"), std::string::npos) << text;
  EXPECT_NE(text.find("alloc %tmp_1"), std::string::npos) << text;
  EXPECT_NE(text.find("} else {\n"), std::string::npos) << text;
}

TEST(TileDsl, RejectsBadPrograms) {
  TileBuilder t("f");
  const Expr n = t.symbol("n");
  EXPECT_THROW(t.symbol("n"), InternalError);
  const Tensor x = t.input("x", DType::f32, {n}), y = t.output("y", DType::f32, {n});
  EXPECT_THROW(t.input("x", DType::f32, {n}), InternalError);
  EXPECT_THROW(x(n, n), InternalError) << "two indices for one dimension";
  EXPECT_THROW(y(0) = Expr(0), InternalError) << "an i64 into a buffer of f32";
  EXPECT_THROW(extent(x(0)), InternalError);
  EXPECT_THROW(t.for_each(spatial(2, 2), 0, [](Expr) {}), InternalError);
  EXPECT_THROW(t.build(), UserError) << "the output is never written";
}

}  // namespace
}  // namespace symtile::dsl
