// Products of several integers in one i32, and sums of products of bytes, at every CPU level of
// this machine against plain loops.
#include <gtest/gtest.h>

#include <random>

#include "symtile/backend/llvm/kernel_runner.h"
#include "symtile/ir/text_format.h"

namespace symtile::codegen {
namespace {

TileFunction kernel(const std::string& product) {
  return parse_module(
             "tile @f<n>(%a: Buffer[(n, 5), i32], %b: Buffer[(n, 32), i32]) -> "
             "(%y: Buffer[(5, 32), i32]) { alloc %acc: Buffer[(5, 32), i32, local] {"
             "for i in 0 to 5 unrolled { for j in 0 to 32 vectorized { %acc[i, j] = 7i32 "
             "} } for k in 0 to n { for i in 0 to 5 unrolled { for j in 0 to 32 "
             "vectorized { %acc[i, j] = %acc[i, j] + (" +
             product +
             ") } } } for i in 0 to 5 unrolled { for j in 0 to 32 vectorized { "
             "%y[i, j] = %acc[i, j] } } } }")
      .tile("f");
}

const std::string kQuads =
    "bit_and(%a[k, i], 255i32) * shr(shl(%b[k, j], 24i32), 24i32) + "
    "bit_and(shr(%a[k, i], 8i32), 255i32) * shr(shl(%b[k, j], 16i32), 24i32) + "
    "bit_and(shr(%a[k, i], 16i32), 255i32) * shr(shl(%b[k, j], 8i32), 24i32) + "
    "bit_and(shr(%a[k, i], 24i32), 255i32) * shr(%b[k, j], 24i32)";
const std::string kPairs =
    "shr(shl(%a[k, i], 16i32), 16i32) * shr(shl(%b[k, j], 16i32), 16i32) + "
    "shr(%a[k, i], 16i32) * shr(%b[k, j], 16i32)";

TEST(Words, ProductsAreExactAtEveryLevel) {
  std::mt19937 random(1);
  const size_t n = 9;
  std::vector<uint32_t> a(n * 5), b(n * 32), y(5 * 32);
  for (uint32_t& x : a) x = random() % 4 == 0 ? 0xffffffffu : random();
  for (uint32_t& x : b) x = random() % 4 == 0 ? 0x80808080u : random();
  for (const bool quads : {true, false}) {
    for (const CpuLevel level : runnable_levels()) {
      SCOPED_TRACE(name_of(level));
      const KernelRunner runner(kernel(quads ? kQuads : kPairs), level);
      runner.run({a.data(), b.data(), y.data()}, {static_cast<int64_t>(n)});
      for (size_t i = 0; i < 5; ++i) {
        for (size_t j = 0; j < 32; ++j) {
          uint32_t want = 7;
          for (size_t k = 0; k < n; ++k) {
            const uint32_t p = a[k * 5 + i], q = b[k * 32 + j];
            for (unsigned s = 0; s < 32; s += quads ? 8 : 16) {
              const int u = quads ? static_cast<uint8_t>(p >> s) : static_cast<int16_t>(p >> s);
              const int v = quads ? static_cast<int8_t>(q >> s) : static_cast<int16_t>(q >> s);
              want += static_cast<uint32_t>(u) * static_cast<uint32_t>(v);
            }
          }
          ASSERT_EQ(y[i * 32 + j], want) << i << " " << j;
        }
      }
    }
  }
}

TEST(Words, AreOneInstructionWhereTheCpuHasIt) {
  const auto text = [](const std::string& product, CpuLevel level) {
    return view_code(kernel(product), cpu_target(level), CodeView::assembly);
  };
  EXPECT_NE(text(kQuads, CpuLevel::x86_64_v4_vnni).find("vpdpbusd"), std::string::npos);
  EXPECT_NE(text(kPairs, CpuLevel::x86_64_v4_vnni).find("vpdpwssd"), std::string::npos);
  EXPECT_NE(text(kPairs, CpuLevel::x86_64_v3).find("vpmaddwd"), std::string::npos);
}

TEST(Words, SumsOfProductsOfBytesAreComplete) {
  // LLVM makes a dot product of the whole: every length, and every combination of signs.
  std::mt19937 random(2);
  std::vector<uint8_t> a(140), b(140);
  for (uint8_t& x : a) x = static_cast<uint8_t>(random());
  for (uint8_t& x : b) x = static_cast<uint8_t>(random());
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      const std::string ta = a_signed ? "i8" : "u8", tb = b_signed ? "i8" : "u8";
      for (const int n : {3, 4, 16, 33, 64, 65, 127, 140}) {
        const std::string count = std::to_string(n);
        const TileFunction f =
            parse_module("tile @f(%a: Buffer[(" + count + "), " + ta + "], %b: Buffer[(" + count +
                         "), " + tb +
                         "]) -> (%y: Buffer[(1), i32]) { alloc %s: Buffer[(1), i32, "
                         "local] { %s[0] = 0i32 for k in 0 to " +
                         count +
                         " vectorized { %s[0] = %s[0] + cast<i32>(%a[k]) * cast<i32>(%b[k]) } "
                         "%y[0] = %s[0] } }")
                .tile("f");
        int32_t want = 0;
        for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
          want += (a_signed ? static_cast<int8_t>(a[k]) : a[k]) *
                  (b_signed ? static_cast<int8_t>(b[k]) : b[k]);
        }
        for (const CpuLevel level : runnable_levels()) {
          int32_t y = 0;
          KernelRunner(f, level).run({a.data(), b.data(), &y});
          EXPECT_EQ(y, want) << ta << " " << tb << " " << n << " " << name_of(level);
        }
      }
    }
  }
}

}  // namespace
}  // namespace symtile::codegen
