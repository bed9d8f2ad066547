// Shape arithmetic of ONNX models becomes formulas; nothing of it is left in the graph.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "symtile/frontend/onnx/onnx_builder.h"

namespace symtile::onnx_import {
namespace {

/// x[N, C, H, W] with H in 1..4096.
ModelBuilder image() {
  ModelBuilder m;
  m.input("x", kFloat, {"N", 8, "H", "W"});
  m.node("Shape", {"x"}, {"shape"});
  m.ints("zero", {0}, true);
  m.ints("two", {2}, true);
  m.ints("three", {3}, true);
  m.ints("v0", {0});
  m.ints("v1", {1});
  m.ints("v2", {2});
  m.ints("v4", {4});
  m.ints("minus1", {-1});
  m.node("Gather", {"shape", "zero"}, {"n"});
  m.node("Gather", {"shape", "two"}, {"h"});
  m.node("Gather", {"shape", "three"}, {"w"});
  m.node("Slice", {"shape", "v2", "v4"}, {"hw"});
  return m;
}

/// The value called `name` as the formulas of a tensor that is returned, "[a, b]" or "a".
std::string formula(ModelBuilder& m, const std::string& name,
                    const std::vector<std::string>& dims = {}) {
  m.graph.clear_output();
  m.output(name);
  const Module module = m.import(dims);
  const GraphFunction& f = module.graph("main");
  std::string out;
  for (const Binding& b : f.bindings) {
    if (const auto* d = std::get_if<DimsToTensor>(&b.node)) {
      std::vector<std::string> texts;
      for (const DimExpr& e : d->dims) texts.push_back(e.str());
      out += d->scalar ? texts[0] : fmt::format("[{}]", fmt::join(texts, ", "));
    } else if (const auto* c = std::get_if<ConstantNode>(&b.node)) {
      std::vector<int64_t> numbers;
      for (int64_t i = 0; i < c->data->element_count(); ++i) numbers.push_back(c->data->as_int(i));
      out += c->data->dims.empty() ? std::to_string(numbers[0])
                                   : fmt::format("[{}]", fmt::join(numbers, ", "));
    } else {
      out += " other";
    }
  }
  return out;
}

TEST(shape_arithmetic, structure) {
  ModelBuilder m = image();
  EXPECT_EQ(formula(m, "shape"), "[N, 8, H, W]");
  EXPECT_EQ(formula(m, "h"), "H");
  EXPECT_EQ(formula(m, "hw"), "[H, W]");
  m.node("Unsqueeze", {"h", "v0"}, {"hv"});
  set(m.node("Concat", {"hv", "minus1", "hw"}, {"cat"}), "axis", 0);
  EXPECT_EQ(formula(m, "cat"), "[H, -1, H, W]");
  m.node("Squeeze", {"hv", "v0"}, {"hs"});
  EXPECT_EQ(formula(m, "hs"), "H");
  m.node("Size", {"x"}, {"size"});
  EXPECT_EQ(formula(m, "size"), "8*H*N*W");
  auto& split = m.node("Split", {"shape", "v22"}, {"front", "back"});
  m.ints("v22", {2, 2});
  set(split, "axis", 0);
  EXPECT_EQ(formula(m, "back"), "[H, W]");
  m.ints("steps", {-1});
  m.ints("far", {-9});
  m.node("Slice", {"shape", "minus1", "far", "v0", "steps"}, {"reversed"});
  EXPECT_EQ(formula(m, "reversed"), "[W, H, 8, N]");
  m.node("ConstantOfShape", {"v2"}, {"zeros"});
  EXPECT_EQ(formula(m, "zeros"), "[0, 0]");
  m.node("Expand", {"h", "v2"}, {"hh"});
  EXPECT_EQ(formula(m, "hh"), "[H, H]");
  m.node("Tile", {"hw", "v2"}, {"tiled"});
  EXPECT_EQ(formula(m, "tiled"), "[H, W, H, W]");
}

// What exporters make of a pad by formulas: pairs of the last axis first, turned around as a
// matrix.
TEST(shape_arithmetic, through_matrices) {
  ModelBuilder m = image();
  m.ints("pairs", {-1, 2});
  m.ints("flat", {-1});
  m.node("Unsqueeze", {"h", "v0"}, {"hv"});
  m.node("Unsqueeze", {"w", "v0"}, {"wv"});
  set(m.node("Concat", {"hv", "v1", "wv", "v2"}, {"pads"}), "axis", 0);
  m.node("Reshape", {"pads", "pairs"}, {"matrix"});
  m.ints("least", {std::numeric_limits<int64_t>::min()});
  m.node("Slice", {"matrix", "minus1", "least", "v0", "minus1"}, {"turned"});
  set(m.node("Transpose", {"turned"}, {"columns"}), "perm", std::vector<int64_t>{1, 0});
  m.node("Reshape", {"columns", "flat"}, {"onnx_pads"});
  EXPECT_EQ(formula(m, "onnx_pads"), "[W, H, 2, 1]");
  set(m.node("ReduceSum", {"matrix", "v1"}, {"sums"}), "keepdims", 0);
  EXPECT_EQ(formula(m, "sums"), "[H + 1, W + 2]");
  m.node("Add", {"matrix", "turned"}, {"both"});
  m.node("Reshape", {"both", "flat"}, {"all"});
  EXPECT_EQ(formula(m, "all"), "[H + W, 3, H + W, 3]");
}

TEST(shape_arithmetic, part_of_a_shape) {
  ModelBuilder m = image();
  auto& n = m.node("Shape", {"x"}, {"part"});
  set(n, "start", -2);
  set(n, "end", 100);
  EXPECT_EQ(formula(m, "part"), "[H, W]");
}

TEST(shape_arithmetic, integers) {
  ModelBuilder m = image();
  m.node("Mul", {"h", "w"}, {"area"});
  EXPECT_EQ(formula(m, "area"), "H*W");
  m.node("Div", {"h", "two"}, {"half"});
  EXPECT_EQ(formula(m, "half"), "H // 2");
  m.node("Sub", {"h", "three"}, {"less3"});
  EXPECT_EQ(formula(m, "less3"), "H - 3");
  m.node("Mod", {"h", "two"}, {"odd"});
  EXPECT_EQ(formula(m, "odd"), "H % 2");
  m.node("Add", {"hw", "two"}, {"more"});
  EXPECT_EQ(formula(m, "more"), "[H + 2, W + 2]");
  m.node("Max", {"h", "w", "two"}, {"largest"});
  EXPECT_NE(formula(m, "largest").find("max("), std::string::npos);
  m.node("Neg", {"h"}, {"negative"});
  EXPECT_EQ(formula(m, "negative"), "-H");
  m.node("Abs", {"negative"}, {"again"});
  EXPECT_EQ(formula(m, "again"), "H");
  set(m.node("ReduceProd", {"shape"}, {"all"}), "keepdims", 0);
  EXPECT_EQ(formula(m, "all"), "8*H*N*W");
  set(m.node("ReduceSum", {"hw", "v0"}, {"sum"}), "keepdims", 1);
  EXPECT_EQ(formula(m, "sum"), "[H + W]");
}

TEST(shape_arithmetic, division_goes_towards_zero) {
  ModelBuilder m = image();
  m.ints("minus7", {-7}, true);
  m.node("Div", {"minus7", "two"}, {"q"});
  EXPECT_EQ(formula(m, "q"), "-3");
  m.node("Sub", {"h", "three"}, {"d"});
  m.node("Div", {"d", "two"}, {"half"});
  m.graph.clear_output();
  m.output("half");
  const Module module = m.import();
  const auto& f = module.graph("main");
  const auto& dims = std::get<DimsToTensor>(f.bindings.at(0).node).dims;
  for (const int64_t h : {0, 1, 2, 3, 4, 5, 10})
    EXPECT_EQ(dims[0].evaluate({{"H", h}}), (h - 3) / 2);
}

TEST(shape_arithmetic, through_floats) {
  ModelBuilder m = image();
  set(m.node("Cast", {"h"}, {"hf"}), "to", int64_t{kFloat});
  m.floats("half", {0.5F}, true);
  m.floats("three_f", {3.0F}, true);
  m.node("Mul", {"hf", "half"}, {"hm"});
  m.node("Floor", {"hm"}, {"fl"});
  set(m.node("Cast", {"fl"}, {"a"}), "to", int64_t{kInt64});
  EXPECT_EQ(formula(m, "a"), "H // 2");
  m.node("Ceil", {"hm"}, {"ce"});
  set(m.node("Cast", {"ce"}, {"b"}), "to", int64_t{kInt64});
  EXPECT_EQ(formula(m, "b"), "(H + 1) // 2");
  m.node("Div", {"hf", "three_f"}, {"third"});
  set(m.node("Cast", {"third"}, {"c"}), "to", int64_t{kInt64});
  EXPECT_EQ(formula(m, "c"), "H // 3");
  m.node("Mul", {"hm", "four_f"}, {"twice"});
  m.floats("four_f", {4.0F}, true);
  set(m.node("Cast", {"twice"}, {"d"}), "to", int64_t{kInt64});
  EXPECT_EQ(formula(m, "d"), "2*H");
}

TEST(shape_arithmetic, rounded_floats_are_left_to_run_time) {
  ModelBuilder m = image();
  set(m.node("Cast", {"h"}, {"hf"}), "to", int64_t{kFloat});
  m.floats("third", {1.0F / 3.0F}, true);
  m.node("Mul", {"hf", "third"}, {"hm"});
  m.node("Floor", {"hm"}, {"fl"});
  EXPECT_NE(formula(m, "fl").find("other"), std::string::npos);
}

TEST(shape_arithmetic, decidable_conditions) {
  ModelBuilder m = image();
  m.node("Equal", {"shape", "minus1"}, {"is_minus1"});
  EXPECT_EQ(formula(m, "is_minus1"), "[0, 0, 0, 0]");
  m.node("Where", {"is_minus1", "two", "shape"}, {"target"});
  EXPECT_EQ(formula(m, "target"), "[N, 8, H, W]");
  m.node("Less", {"h", "two"}, {"small"});
  EXPECT_EQ(formula(m, "small", {"H=2..4096"}), "0");
  EXPECT_EQ(formula(m, "small", {"H=0..1"}), "1");
  EXPECT_NE(formula(m, "small").find("other"), std::string::npos) << "not decidable";
  m = image();
  m.node("GreaterOrEqual", {"h", "zero"}, {"sure"});
  m.node("Not", {"sure"}, {"never"});
  m.node("Or", {"never", "sure"}, {"either"});
  EXPECT_EQ(formula(m, "either"), "1");
}

TEST(shape_arithmetic, user_facts) {
  ModelBuilder m = image();
  m.node("Div", {"h", "two"}, {"half"});
  m.node("Mul", {"half", "two"}, {"even"});
  EXPECT_EQ(formula(m, "even", {"H % 2 == 0"}), "H");
  EXPECT_EQ(formula(m, "shape", {"H=48", "N=1"}), "[1, 8, 48, W]");
}

TEST(shape_arithmetic, reshape_of_a_chain) {
  ModelBuilder m = image();
  m.node("Mul", {"h", "w"}, {"area"});
  m.node("Unsqueeze", {"n", "v0"}, {"nv"});
  m.node("Unsqueeze", {"area", "v0"}, {"av"});
  m.ints("eight", {8});
  set(m.node("Concat", {"nv", "eight", "av"}, {"target"}), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  const Module module = m.import();
  const GraphFunction& f = module.graph("main");
  ASSERT_EQ(f.bindings.size(), 1u) << print(f);
  EXPECT_EQ(f.type(f.results[0]).str(), "Tensor[(N, 8, H*W), f32]");
  EXPECT_EQ(f.value(f.results[0]).name, "y");
}

TEST(shape_arithmetic, overflow_is_left_to_the_tensors) {
  ModelBuilder m = image();
  m.ints("huge", {INT64_MAX}, true);
  m.node("Mul", {"huge", "huge"}, {"wrapped"});
  EXPECT_NE(formula(m, "wrapped").find("other"), std::string::npos);
}

}  // namespace
}  // namespace symtile::onnx_import
