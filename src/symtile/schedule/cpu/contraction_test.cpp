// Schedules of sums of products and of window reductions against their compute form: every tile of
// the space, extents 0, 1 and primes. The interpreter checks every index on the way.
#include "symtile/schedule/cpu/contraction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "symtile/interp/tile_interp.h"
#include "symtile/schedule/cpu/window_reduce.h"
#include "symtile/schedule/schedule.h"

namespace symtile {
namespace {

struct Kernel {
  const char* name;
  const char* schedule;
  const char* text;
};

constexpr Kernel kKernels[] = {
    {"matmul", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, c), f32], %w: Buffer[(c, b), f32], %z: Buffer[(b), f32]) -> "
     "(%y: Buffer[(a, b), f32]) { compute %y[i < a, j < b] = "
     "max(%z[j] + (sum(k < c) %x[i, k] * %w[k, j]), 0.0f32) }"},
    {"matmul_transposed", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(c, a), f32], %w: Buffer[(b, c), f32]) -> "
     "(%y: Buffer[(a, b), f32]) { compute %y[i < a, j < b] = sum(k < c) %x[k, i] * %w[j, k] }"},
    {"matmul_u8_i8", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, c), u8], %w: Buffer[(c, b), i8], %z: Buffer[(1), u8]) -> "
     "(%y: Buffer[(a, b), i32]) { compute %y[i < a, j < b] = sum(k < c) "
     "(cast<i32>(%x[i, k]) - cast<i32>(%z[0])) * cast<i32>(%w[k, j]) }"},
    {"conv", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, 3, b, c), f32], %w: Buffer[(5, 3, 3, 3), f32]) -> "
     "(%y: Buffer[(a, 5, b, c), f32]) { compute %y[n < a, o < 5, i < b, j < c] = "
     "sum(k < 3, p < 3, q < 3) select(i + p - 1 >= 0 && i + p - 1 < b && j + q - 1 >= 0 && "
     "j + q - 1 < c, %x[n, k, i + p - 1, j + q - 1], 0.0f32) * %w[o, k, p, q] }"},
    {"conv_strided", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(3, 2*b + 3, 3*c + 2), f32], %w: Buffer[(7, 3, 5, 4), f32]) -> "
     "(%y: Buffer[(7, b, c), f32]) { compute %y[o < 7, i < b, j < c] = "
     "sum(k < 3, p < 5, q < 4) %x[k, 2*i + p, min(3*c + 1, 3*j + q)] * %w[o, k, p, q] }"},
    {"conv_strided_plain", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, 2*b + 3, 3*c + 5), f32], %w: Buffer[(7, a, 5, 4), f32]) -> "
     "(%y: Buffer[(7, b, c), f32]) { compute %y[o < 7, i < b, j < c] = "
     "sum(k < a, p < 5, q < 4) %x[k, 2*i + p, 3*j + 2*q] * %w[o, k, p, q] }"},
    {"conv_1d_dilated", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, c + 6), f32], %w: Buffer[(b, a, 3), f32]) -> "
     "(%y: Buffer[(b, c), f32]) { compute %y[o < b, i < c] = "
     "sum(k < a, p < 3) %x[k, i + 3*p] * %w[o, k, p] }"},
    {"conv_3d", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(2, a + 1, b + 1, c + 1), f32], %w: Buffer[(3, 2, 2, 2, 2), f32])"
     " -> (%y: Buffer[(3, a, b, c), f32]) { compute %y[o < 3, h < a, i < b, j < c] = "
     "sum(k < 2, r < 2, p < 2, q < 2) %x[k, h + r, i + p, j + q] * %w[o, k, r, p, q] }"},
    {"conv_i8", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, b, c), u8], %w: Buffer[(5, a, 3, 3), u8], "
     "%z: Buffer[(5), u8]) -> (%y: Buffer[(5, b, c), i32]) { compute %y[o < 5, i < b, j < c] = "
     "sum(k < a, p < 3, q < 3) select(i + p - 1 >= 0 && i + p - 1 < b && j + q - 1 >= 0 && "
     "j + q - 1 < c, cast<i32>(%x[k, i + p - 1, j + q - 1]) - 3i32, 0i32) * "
     "(cast<i32>(%w[o, k, p, q]) - cast<i32>(%z[o])) }"},
    {"matmul_i8_i8", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, c), i8], %w: Buffer[(b, c), i8], %z: Buffer[(b), i8]) -> "
     "(%y: Buffer[(a, b), i32]) { compute %y[i < a, j < b] = 5i32 + (sum(k < c) "
     "(cast<i32>(%x[i, k]) + 9i32) * (cast<i32>(%w[j, k]) - cast<i32>(%z[j]))) }"},
    {"matmul_u8_u8_batched", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(2, a, c), u8], %w: Buffer[(2, c, b), u8], %z: Buffer[(2, a, 1), "
     "u8]) -> (%y: Buffer[(2, a, b), i32]) { compute %y[h < 2, i < a, j < b] = sum(k < c) "
     "(cast<i32>(%x[h, i, k]) - cast<i32>(%z[h, i, 0])) * cast<i32>(%w[h, k, j]) }"},
    {"matmul_words", "contraction",
     "tile @f<a, b>(%x: Buffer[(a, 12), u8], %w: Buffer[(ceildiv(b, 32), 3, 32), i32], %z: "
     "Buffer[(b), u8]) -> (%y: Buffer[(a, b), i32]) facts { 0 <= b <= 100 } { "
     "compute %y[i < a, j < b] = sum(k < 12) (cast<i32>(%x[i, k]) - 3i32) * "
     "(cast<i32>(cast<i8>(shr(%w[j // 32, k // 4, j % 32], cast<i32>(k % 4) * 8i32))) + 128i32 - "
     "cast<i32>(%z[j])) }"},
    {"conv_words", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(8, b, c), u8], %w: Buffer[(5, 2, 3, 3), i32]) -> "
     "(%y: Buffer[(5, b, c), i32]) { compute %y[o < 5, i < b, j < c] = "
     "sum(k < 8, p < 3, q < 3) select(i + p - 1 >= 0 && i + p - 1 < b && j + q - 1 >= 0 && "
     "j + q - 1 < c, cast<i32>(%x[k, i + p - 1, j + q - 1]) - 3i32, 0i32) * "
     "cast<i32>(cast<i8>(shr(%w[o, k // 4, p, q], cast<i32>(k % 4) * 8i32))) }"},
    {"matmul_words_odd", "contraction",
     "tile @f<a, b>(%x: Buffer[(a, 11), u8], %w: Buffer[(ceildiv(b, 32), 3, 32), i32], %z: "
     "Buffer[(b), u8]) -> (%y: Buffer[(a, b), i32]) facts { 0 <= b <= 100 } { "
     "compute %y[i < a, j < b] = sum(k < 11) (cast<i32>(%x[i, k]) - 3i32) * "
     "(cast<i32>(cast<i8>(shr(%w[j // 32, k // 4, j % 32], cast<i32>(k % 4) * 8i32))) + 128i32 - "
     "cast<i32>(%z[j])) }"},
    {"conv_words_odd", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(6, b, c), u8], %w: Buffer[(5, 2, 3, 3), i32]) -> "
     "(%y: Buffer[(5, b, c), i32]) { compute %y[o < 5, i < b, j < c] = "
     "sum(k < 6, p < 3, q < 3) select(i + p - 1 >= 0 && i + p - 1 < b && j + q - 1 >= 0 && "
     "j + q - 1 < c, cast<i32>(%x[k, i + p - 1, j + q - 1]) - 3i32, 0i32) * "
     "cast<i32>(cast<i8>(shr(%w[o, k // 4, p, q], cast<i32>(k % 4) * 8i32))) }"},
    {"conv_i8_one_channel_strided", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(2*b + 3, 3*c + 5), i8], %w: Buffer[(7, 5, 4), i8]) -> "
     "(%y: Buffer[(7, b, c), i32]) { compute %y[o < 7, i < b, j < c] = "
     "sum(p < 5, q < 4) cast<i32>(%x[2*i + p, 3*j + 2*q]) * cast<i32>(%w[o, p, q]) }"},
    {"conv_i8_patches", "contraction",
     "tile @f<a, b, c>(%x: Buffer[(a, 2*b, 2*c), u8], %w: Buffer[(7, a, 2, 2), i8], "
     "%z: Buffer[(1), u8]) -> (%y: Buffer[(7, b, c), i32]) { compute %y[o < 7, i < b, j < c] = "
     "sum(k < a, p < 2, q < 2) (cast<i32>(%x[k, 2*i + p, 2*j + q]) - cast<i32>(%z[0])) * "
     "cast<i32>(%w[o, k, p, q]) }"},
    {"max_pool", "window_reduction",
     "tile @f<a, b, c>(%x: Buffer[(a, 2*b, 2*c), f32]) -> (%y: Buffer[(a, b, c), f32]) { "
     "compute %y[n < a, i < b, j < c] = max(p < 3, q < 3) select(2*i + p - 1 >= 0 && "
     "2*i + p - 1 < 2*b && 2*j + q - 1 >= 0 && 2*j + q - 1 < 2*c, "
     "%x[n, 2*i + p - 1, 2*j + q - 1], f32(-inf)) }"},
    {"depthwise", "window_reduction",
     "tile @f<a, b, c>(%x: Buffer[(a, b, c), f32], %w: Buffer[(a, 5, 3), f32]) -> "
     "(%y: Buffer[(a, b, c), f32]) { compute %y[n < a, i < b, j < c] = "
     "(sum(p < 5, q < 3) select(i + p - 2 >= 0 && i + p - 2 < b && j + q - 1 >= 0 && "
     "j + q - 1 < c, %x[n, i + p - 2, j + q - 1], 0.0f32) * %w[n, p, q]) * 0.5f32 }"},
    {"grouped", "window_reduction",
     "tile @f<a, b, c>(%x: Buffer[(6, b + 2, c), f32], %w: Buffer[(4, 3, 3), f32]) -> "
     "(%y: Buffer[(4, b, c), f32]) { compute %y[o < 4, i < b, j < c] = "
     "sum(k < 3, p < 3) %x[o // 2 * 3 + k, i + p, j] * %w[o, k, p] }"},
};

constexpr size_t kContractions = 17;  ///< those of kKernels come first

RefTensor random_tensor(const Buffer& b, const DimValues& values, std::mt19937& random) {
  std::vector<int64_t> dims;
  for (const DimExpr& d : b.dims) dims.push_back(d.evaluate(values));
  RefTensor out(b.dtype, dims);
  std::uniform_int_distribution<int> number(is_unsigned_int(b.dtype) ? 0 : -127,
                                            is_unsigned_int(b.dtype) ? 255 : 127);
  for (int64_t i = 0; i < out.size(); ++i) {
    out.is_float_kind() ? out.set(i, number(random) / 16.0) : out.set_int(i, number(random));
  }
  return out;
}

void expect_same(const TileFunction& f, const TileFunction& scheduled, const DimValues& values,
                 std::mt19937& random) {
  std::vector<RefTensor> inputs;
  for (const Buffer& b : f.inputs) inputs.push_back(random_tensor(b, values, random));
  std::vector<const RefTensor*> pointers;
  for (const RefTensor& t : inputs) pointers.push_back(&t);
  std::vector<int64_t> dims;
  for (const DimExpr& d : f.outputs[0].dims) dims.push_back(d.evaluate(values));
  const RefTensor expected = run_tile(f, values, pointers, {dims})[0];
  const RefTensor actual = run_tile(scheduled, values, pointers, {dims})[0];
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double x = expected.as_double(i), y = actual.as_double(i);
    ASSERT_TRUE(x == y || std::abs(x - y) <= 1e-6 * (1 + std::abs(x)))
        << "element " << i << " is " << y << ", not " << x;
  }
}

std::vector<DimValues> shapes(std::mt19937& random, int count) {
  const std::vector<int64_t> extents = {0, 1, 2, 3, 5, 7, 8, 13, 16, 17};
  std::uniform_int_distribution<size_t> pick(0, extents.size() - 1);
  std::vector<DimValues> out;
  for (int i = 0; i < count; ++i)
    out.push_back(
        {{"a", extents[pick(random)]}, {"b", extents[pick(random)]}, {"c", extents[pick(random)]}});
  return out;
}

TileFunction with_static_dims(TileFunction f, const DimValues& values) {
  DimSubstitution map;
  std::map<std::string, Expr> vars;
  for (const auto& [name, value] : values) {
    map.emplace(name, DimExpr(value));
    vars.emplace(name, Expr(value));
  }
  for (auto* list : {&f.inputs, &f.outputs}) {
    for (Buffer& b : *list) {
      for (DimExpr& d : b.dims) d = d.substitute(map);
    }
  }
  f.body = substitute(f.body, vars);
  f.symbols.clear();
  return f;
}

constexpr CpuLevel kLevels[] = {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4,
                                CpuLevel::x86_64_v4_vnni, CpuLevel::armv8};

TEST(Contraction, AgreesAtEveryExtentOnEveryLevel) {
  std::mt19937 random(1);
  for (const Kernel& k : kKernels) {
    SCOPED_TRACE(k.name);
    const TileFunction f = parse_module(k.text).tile("f");
    for (const CpuLevel level : kLevels) {
      const TileFunction scheduled = schedule_for_cpu(f, cpu_target(level));
      EXPECT_EQ(schedule_name(f, cpu_target(level)), k.schedule);
      for (const DimValues& values : shapes(random, 3)) {
        SCOPED_TRACE(fmt::format("{} at {} {} {}", name_of(level), values.at("a"), values.at("b"),
                                 values.at("c")));
        expect_same(f, scheduled, values, random);
        const TileFunction fixed = with_static_dims(f, values);
        expect_same(fixed, schedule_for_cpu(fixed, cpu_target(level)), {}, random);
      }
    }
  }
}

TEST(Contraction, EveryTileOfTheSpaceAgrees) {
  std::mt19937 random(2);
  const CpuTarget& target = cpu_target(CpuLevel::x86_64_v3);
  const std::vector<ContractionTile> tiles = contraction_tiles(target, DType::f32);
  EXPECT_GE(tiles.size(), 20u);
  EXPECT_LE(tiles.size(), kMaxCandidates);
  for (size_t t = 0; t < tiles.size(); ++t) {
    const Kernel& k = kKernels[t % kContractions];
    SCOPED_TRACE(fmt::format("{} mr={} nr={} kc={} mc={} mt={} nc={}", k.name, tiles[t].mr,
                             tiles[t].nr, tiles[t].kc, tiles[t].mc, tiles[t].mt, tiles[t].nc));
    const TileFunction f = parse_module(k.text).tile("f");
    ContractionTile small = tiles[t];
    // Blocks that the small extents here do not fit in one of.
    if (t % 2 == 1) small.kc = 4;
    if (t % 3 == 1) small.mc = small.mr;
    if (t % 3 == 2) small.mt = small.mc = small.mr;
    const TileFunction scheduled = schedule_contraction(f, *compute_form(f), target, small);
    for (const DimValues& values : shapes(random, 1)) expect_same(f, scheduled, values, random);
  }
}

TEST(Contraction, WordsOf8BitProductsAreExact) {
  // The extreme products, summed past the range of i16.
  const TileFunction f = parse_module(kKernels[2].text).tile("f");
  RefTensor x(DType::u8, {2, 9}), w(DType::i8, {9, 3}), z(DType::u8, {1});
  for (int64_t i = 0; i < x.size(); ++i) x.set_int(i, i % 2 == 0 ? 255 : 0);
  for (int64_t i = 0; i < w.size(); ++i) w.set_int(i, i % 2 == 0 ? -128 : 127);
  z.set_int(0, 255);
  const DimValues values{{"a", 2}, {"b", 3}, {"c", 9}};
  const RefTensor expected = run_tile(f, values, {&x, &w, &z}, {{2, 3}})[0];
  for (const CpuLevel level : {CpuLevel::x86_64_v3, CpuLevel::x86_64_v4_vnni}) {
    const TileFunction scheduled = schedule_for_cpu(f, cpu_target(level));
    EXPECT_EQ(expected.i, run_tile(scheduled, values, {&x, &w, &z}, {{2, 3}})[0].i);
  }
}

TEST(Contraction, PackedWordsAreReadAsTheyLie) {
  // Neither panels of columns nor rows are copied where the CPU multiplies four bytes at a time.
  for (const Kernel& k : kKernels) {
    const std::string name = k.name;
    if (name != "matmul_words" && name != "conv_words") continue;
    const TileFunction f = parse_module(k.text).tile("f");
    const std::string copy = name == "conv_words" ? "apack" : "bpack";
    const auto copies = [&](CpuLevel level) {
      return print(schedule_for_cpu(f, cpu_target(level))).find(copy) != std::string::npos;
    };
    EXPECT_FALSE(copies(CpuLevel::x86_64_v4_vnni)) << name;
    EXPECT_TRUE(copies(CpuLevel::x86_64_v3)) << name;
  }
}

}  // namespace
}  // namespace symtile
