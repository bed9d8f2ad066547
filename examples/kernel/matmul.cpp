#include "matmul.h"

using namespace symtile;
using namespace symtile::dsl;

TileFunction tiled_matmul() {
  constexpr int kRows = 4, kLanes = 16;  // one task: a register tile of 4 x 16
  TileBuilder t("tiled_matmul");
  const Expr m = t.symbol("m"), n = t.symbol("n"), k = t.symbol("k");
  const Tensor a = t.input("a", DType::f32, {m, k}), b = t.input("b", DType::f32, {k, n});
  const Tensor c = t.output("c", DType::f32, {m, n});

  // Each thread takes blocks of 64 x 64: 16 x 4 register tiles, in order.
  const TaskMapping mapping = spatial(ceildiv(m, 64), ceildiv(n, 64)) * repeat(16, 4);
  t.parallel("block", 0, ceildiv(m, 64) * ceildiv(n, 64), [&](Expr block) {
    t.for_each(mapping, block, [&](Expr i, Expr j) {
      const Expr row = t.let("row", i * kRows), col = t.let("col", j * kLanes);
      const Tensor acc = t.local("acc", DType::f32, {kRows, kLanes});
      // The tile's loops, once: rows unrolled into registers, columns in SIMD lanes.
      const auto tile = [&](const std::function<void(Expr, Expr)>& body) {
        t.unrolled("r", 0, kRows,
                   [&](Expr r) { t.vectorized("l", 0, kLanes, [&](Expr l) { body(r, l); }); });
      };
      tile([&](Expr r, Expr l) { acc(r, l) = 0.0; });
      t.serial("p", 0, k, [&](Expr p) {
        tile([&](Expr r, Expr l) {
          acc(r, l) +=
              predicated(row + r < m, a(row + r, p)) * predicated(col + l < n, b(p, col + l));
        });
      });
      tile([&](Expr r, Expr l) {
        t.when(row + r < m && col + l < n, [&] { c(row + r, col + l) = acc(r, l); });
      });
    });
  });
  return t.build();
}
