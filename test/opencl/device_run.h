// Runs a tile function, or a whole module, through the pipeline on the device "opencl".
#pragma once

#include <gtest/gtest.h>

#include "symtile/driver/driver.h"
#include "symtile/op/ref_tensor.h"
#include "symtile/runtime/device.h"

namespace symtile::test {

/// A test on a machine without OpenCL says so and ends.
#define SKIP_WITHOUT_OPENCL() \
  if (const std::string reason = why_no_device("opencl"); !reason.empty()) GTEST_SKIP() << reason

std::vector<Constant> run_on_opencl(const Module& module, const std::vector<Constant>& inputs);

/// One call of `f` with these inputs and values of its symbols; the outputs in order.
std::vector<Constant> run_on_opencl(const TileFunction& f, const DimValues& symbols,
                                    const std::vector<Constant>& inputs);

/// Fails unless all elements differ by at most `tolerance` times the largest number.
void expect_close(const std::vector<Constant>& actual, const std::vector<RefTensor>& expected,
                  double tolerance);

/// Fails unless the device and the interpreter agree within `tolerance` of the largest number.
void expect_as_interpreted(const Module& module, const std::vector<Constant>& inputs,
                           double tolerance = 1e-6);
void expect_as_interpreted(const TileFunction& f, const DimValues& symbols,
                           const std::vector<Constant>& inputs, double tolerance = 1e-6);

/// Numbers in [-2, 2), integers in [0, 100), the same for the same seed.
Constant random_constant(DType dtype, const std::vector<int64_t>& dims, uint64_t seed);

}  // namespace symtile::test
