#include "symtile/schedule/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "symtile/ir/module.h"
#include "symtile/schedule/schedule.h"

namespace symtile {
namespace {

TileFunction matmul(const std::string& symbols, const std::string& m, const std::string& n,
                    const std::string& k) {
  const Module module = parse_module(fmt::format(
      "tile @f{0}(%a: Buffer[({1}, {3}), f32], %b: Buffer[({3}, {2}), f32]) -> (%c: Buffer[({1}, "
      "{2}), f32]) {{ compute %c[i < {1}, j < {2}] = sum(p < {3}) %a[i, p] * %b[p, j] }}",
      symbols, m, n, k));
  return module.tile("f");
}

template <typename Target>
void expect_one_space_for_all_sizes(const Target& target) {
  const auto space = schedule_space(matmul("", "1024", "1024", "1024"), target);
  EXPECT_GT(space.size(), 1u);
  EXPECT_LE(space.size(), kMaxCandidates);
  EXPECT_EQ(schedule_space(matmul("", "7", "2039", "13"), target), space);
  EXPECT_EQ(schedule_space(matmul("<m, n, k>", "m", "n", "k"), target), space);
  for (size_t i = 0; i < space.size(); ++i) {
    EXPECT_FALSE(space[i].parameters.empty());
    for (size_t j = 0; j < i; ++j) EXPECT_NE(space[i], space[j]) << space[i].str();
  }
}

TEST(ScheduleSpace, DependsOnTheMachineAlone) {
  for (const CpuLevel level :
       {CpuLevel::x86_64_v2, CpuLevel::x86_64_v3, CpuLevel::x86_64_v4, CpuLevel::armv8})
    expect_one_space_for_all_sizes(cpu_target(level));
  expect_one_space_for_all_sizes(opencl_target());
}

TEST(ScheduleSpace, WithoutParametersIsTheRule) {
  const Module module = parse_module(
      "tile @f<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) { compute %y[i < n] = "
      "exp(%x[i]) }");
  const auto space = schedule_space(module.tile("f"), cpu_target(CpuLevel::x86_64_v3));
  ASSERT_EQ(space.size(), 1u);
  EXPECT_EQ(space[0].str(), "rows");
}

TEST(ScheduleSpace, CandidatesPrint) {
  EXPECT_EQ((ScheduleCandidate{"contraction", {{"mr", 6}, {"nr", 16}}}).str(),
            "contraction mr=6 nr=16");
}

}  // namespace
}  // namespace symtile
