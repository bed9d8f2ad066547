// What a SIMD loop becomes in OpenCL C: vector loads and stores where neighbours lie side by side.
#include "symtile/backend/opencl/print_opencl.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace symtile {
namespace {

/// The kernel of one statement in a loop over `lanes` SIMD lanes, from element 4 b on.
std::string printed(int lanes, const std::string& statement) {
  const Module module = parse_module(fmt::format(R"(
tile @f<n>(%x: Buffer[(n), f32], %h: Buffer[(n), f16]) -> (%y: Buffer[(n), f32]) {{
  for b in 0 to n // {0} grid_block {{
    for l in 0 to {0} vectorized {{
      {1}
    }}
  }}
}})",
                                                 lanes, statement));
  return view_opencl(module.tile("f"));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PrintOpencl, NeighboursAreMovedAsVectors) {
  for (const int lanes : {2, 4, 8, 16}) {
    const std::string text =
        printed(lanes, fmt::format("%y[b * {0} + l] = %x[b * {0} + l] * 2.0f32", lanes));
    EXPECT_TRUE(has(text, fmt::format("vload{}(0, &x", lanes))) << text;
    EXPECT_TRUE(has(text, fmt::format("vstore{}((f32x{}", lanes, lanes))) << text;
  }
}

TEST(PrintOpencl, HalvesAreConvertedLaneByLane) {
  const std::string text = printed(4, "%y[b * 4 + l] = cast<f32>(%h[b * 4 + l])");
  EXPECT_TRUE(has(text, "const u16x4 ")) << text;
  EXPECT_TRUE(has(text, ".s3)")) << text;
}

TEST(PrintOpencl, WhatIsNotSideBySideStaysScalar) {
  EXPECT_FALSE(has(printed(4, "%y[b * 4 + l] = %x[0]"), "vload"));
  EXPECT_TRUE(has(printed(4, "%y[b * 4 + l] = %x[0]"), "vstore4"));
  const std::string reversed = printed(4, "%y[b * 4 + l] = %x[b * 4 + 3 - l]");
  EXPECT_FALSE(has(reversed, "vload")) << reversed;
  const std::string strided = printed(4, "%y[l * (n // 4) + b] = %x[b * 4 + l]");
  EXPECT_TRUE(has(strided, "vload4")) << strided;
  EXPECT_FALSE(has(strided, "vstore")) << strided;
}

TEST(PrintOpencl, GuardedLoadsAndOddCountsStayScalar) {
  const std::string guarded =
      printed(4, "%y[b * 4 + l] = select(b > 0, %x[b * 4 + l - 4], 0.0f32)");
  EXPECT_FALSE(has(guarded, "vload")) << guarded;
  const std::string odd = printed(3, "%y[b * 3 + l] = %x[b * 3 + l]");
  EXPECT_FALSE(has(odd, "vload")) << odd;
  // Reads of what the loop writes at another place are in order.
  const std::string chain = printed(4, "%y[b * 4 + l] = %y[0] + %x[b * 4 + l]");
  EXPECT_FALSE(has(chain, "vload")) << chain;
}

}  // namespace
}  // namespace symtile
