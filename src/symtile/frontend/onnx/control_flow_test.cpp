// If, Loop and Scan: what is decided at import, what becomes functions, and of which types.
#include <gtest/gtest.h>

#include "symtile/frontend/onnx/onnx_builder.h"

namespace symtile::onnx_import {
namespace {

/// if (c) abs(x) else concat(x, x) of x[n, 4].
ModelBuilder with_if() {
  ModelBuilder m;
  m.input("x", kFloat, {"n", 4});
  m.input("c", kBool, {});
  GraphBuilder yes, no;
  yes.node("Abs", {"x"}, {"yes"});
  yes.output("yes");
  set(no.node("Concat", {"x", "x"}, {"no"}), "axis", 0);
  no.output("no");
  auto& n = m.node("If", {"c"}, {"y"});
  set(n, "then_branch", yes.graph);
  set(n, "else_branch", no.graph);
  m.output("y");
  return m;
}

TEST(control_flow, if_at_run_time) {
  ModelBuilder m = with_if();
  const Module module = m.import();
  const GraphFunction& f = module.graph("main");
  const auto* node = find_node<If>(f);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->args.size(), 1u);
  EXPECT_EQ(module.graph(node->then_fn).dim_params, (std::vector<std::string>{"n"}));
  EXPECT_EQ(result_type(module), "Tensor[(if, 4), f32]") << "only what differs is not known";
  check(module);
}

TEST(control_flow, if_known_at_import) {
  for (const bool taken : {true, false}) {
    ModelBuilder m = with_if();
    m.graph.mutable_node(0)->set_input(0, "known");
    m.ints("limit", {0}, true);
    auto& size = m.node("Size", {"x"}, {"size"});
    (void)size;
    if (taken) {
      m.node("GreaterOrEqual", {"size", "limit"}, {"known"});
    } else {
      m.node("Less", {"size", "limit"}, {"known"});
    }
    const Module module = m.import();
    EXPECT_EQ(module.functions().size(), 1u);
    EXPECT_EQ(result_type(module), taken ? "Tensor[(n, 4), f32]" : "Tensor[(2*n, 4), f32]");
    EXPECT_EQ(module.graph("main").bindings.size(), 1u);
    check(module);
  }
}

/// y = if (m == 1) squeeze(x, 1) else x, for x[n, m]; then softmax over axis 1 if `after`.
ModelBuilder with_squeeze(int axis) {
  ModelBuilder m;
  m.input("x", kFloat, {"n", "m"});
  m.ints("one", {1}, true);
  m.ints("one_axis", {1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "one"}, {"m"});
  m.node("Equal", {"m", "one"}, {"c"});
  GraphBuilder yes, no;
  yes.node("Squeeze", {"x", "one_axis"}, {"yes"});
  yes.output("yes");
  no.node("Identity", {"x"}, {"no"});
  no.output("no");
  auto& n = m.node("If", {"c"}, {"z"});
  set(n, "then_branch", yes.graph);
  set(n, "else_branch", no.graph);
  set(m.node("Softmax", {"z"}, {"y"}), "axis", axis);
  m.output("y");
  return m;
}

TEST(control_flow, branches_of_different_rank) {
  Module module = with_squeeze(0).import();
  EXPECT_EQ(module.functions().size(), 1u);
  EXPECT_EQ(result_type(module), "Tensor[(n), f32]") << "the first branch, with a check";
  const auto* check_node = find_node<CheckDims>(module.graph("main"));
  ASSERT_TRUE(check_node);
  EXPECT_TRUE(check_node->a.str() == "m" || check_node->b.str() == "m");
  check(module);
  module = with_squeeze(1).import();
  EXPECT_EQ(result_type(module), "Tensor[(n, m), f32]") << "only the second has an axis 1";
  check(module);
  EXPECT_EQ(result_type(with_squeeze(0).import({"m=1"})), "Tensor[(n), f32]");
  EXPECT_EQ(result_type(with_squeeze(0).import({"m=2..8"})), "Tensor[(n, m), f32]");
}

TEST(control_flow, a_branch_that_contradicts_its_shapes) {
  ModelBuilder m = with_if();
  auto& no = *m.graph.mutable_node(0)->mutable_attribute(1)->mutable_g();
  set(*no.mutable_node(0), "axis", 7);
  no.mutable_node(0)->mutable_attribute()->DeleteSubrange(0, 1);
  const Module module = m.import();
  EXPECT_EQ(result_type(module), "Tensor[(n, 4), f32]");
  EXPECT_TRUE(find_node<ReadDims>(module.graph("main"))) << "the condition is checked at run time";
  check(module);
}

TEST(control_flow, constants_and_formulas_are_not_captured) {
  ModelBuilder m = with_if();
  m.ints("flat", {-1});
  m.node("Shape", {"x"}, {"shape"});
  auto& yes = *m.graph.mutable_node(0)->mutable_attribute(0)->mutable_g();
  yes.mutable_node(0)->set_op_type("Reshape");
  yes.mutable_node(0)->add_input("shape");
  const Module module = m.import();
  const auto* node = find_node<If>(module.graph("main"));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->args.size(), 1u) << "x alone; the shape is a formula in the branch too";
  check(module);
}

/// for (i < trips) { acc = concat(acc, x); scan(x * i) }
ModelBuilder with_loop(bool grows) {
  ModelBuilder m;
  m.input("x", kFloat, {"n", 4});
  m.input("start", kFloat, {"k", 4});
  m.ints("trips", {5}, true);
  GraphBuilder body;
  body.input("i", kInt64, {});
  body.input("go", kBool, {});
  body.input("acc", kFloat, {});
  body.graph.mutable_input(2)->mutable_type()->mutable_tensor_type()->clear_shape();
  body.node("Identity", {"go"}, {"on"});
  if (grows) {
    set(body.node("Concat", {"acc", "x"}, {"next"}), "axis", 0);
  } else {
    body.node("Neg", {"acc"}, {"next"});
  }
  set(body.node("Cast", {"i"}, {"fi"}), "to", int64_t{kFloat});
  body.node("Mul", {"x", "fi"}, {"scan"});
  body.output("on");
  body.output("next");
  body.output("scan");
  auto& n = m.node("Loop", {"trips", "", "start"}, {"acc_out", "stacked"});
  set(n, "body", body.graph);
  m.output("acc_out");
  m.output("stacked");
  return m;
}

TEST(control_flow, loop) {
  ModelBuilder m = with_loop(false);
  const Module module = m.import();
  EXPECT_EQ(result_type(module, 0), "Tensor[(k, 4), f32]");
  EXPECT_EQ(result_type(module, 1), "Tensor[(5, n, 4), f32]");
  const auto* node = find_node<Loop>(module.graph("main"));
  ASSERT_TRUE(node);
  EXPECT_FALSE(node->condition.valid());
  EXPECT_EQ(node->scanned, 1);
  EXPECT_EQ(node->captured.size(), 1u);
  check(module);
}

TEST(control_flow, loop_that_grows_a_value) {
  ModelBuilder m = with_loop(true);
  const Module module = m.import();
  EXPECT_EQ(result_type(module, 0), "Tensor[(loop, 4), f32]");
  EXPECT_EQ(module.functions().size(), 2u) << "the first try is gone";
  const auto* node = find_node<Loop>(module.graph("main"));
  ASSERT_TRUE(node);
  const GraphFunction& body = module.graph(node->body);
  EXPECT_EQ(body.type(body.params[2]).str(), "Tensor[(carried0, 4), f32]");
  EXPECT_EQ(body.type(body.results[1]).str(), "Tensor[(carried0 + n, 4), f32]");
  check(module);
}

ModelBuilder with_scan(int64_t opset) {
  ModelBuilder m(opset);
  GraphBuilder body;
  body.input("sum_in", kFloat, {2});
  body.input("next", kFloat, {2});
  body.node("Add", {"sum_in", "next"}, {"sum_out"});
  body.node("Identity", {"sum_out"}, {"scan_out"});
  body.output("sum_out");
  body.output("scan_out");
  if (opset < 9) {
    m.input("initial", kFloat, {"b", 2});
    m.input("x", kFloat, {"b", "t", 2});
  } else {
    m.input("initial", kFloat, {2});
    m.input("x", kFloat, {"t", 2});
  }
  const std::vector<std::string> inputs = opset < 9 ? std::vector<std::string>{"", "initial", "x"}
                                                    : std::vector<std::string>{"initial", "x"};
  auto& n = m.node("Scan", inputs, {"y", "z"});
  set(n, "num_scan_inputs", 1);
  set(n, "body", body.graph);
  m.output("y");
  m.output("z");
  return m;
}

TEST(control_flow, scan) {
  ModelBuilder m = with_scan(17);
  Module module = m.import();
  EXPECT_EQ(result_type(module, 0), "Tensor[(2), f32]");
  EXPECT_EQ(result_type(module, 1), "Tensor[(t, 2), f32]");
  check(module);
  pb::NodeProto& n = *m.graph.mutable_node(0);
  set(n, "scan_input_directions", std::vector<int64_t>{1});
  set(n, "scan_output_directions", std::vector<int64_t>{1});
  set(n, "scan_output_axes", std::vector<int64_t>{-1});
  module = m.import();
  EXPECT_EQ(result_type(module, 1), "Tensor[(2, t), f32]");
  check(module);
}

TEST(control_flow, scan_of_a_batch) {
  ModelBuilder m = with_scan(8);
  const Module module = m.import();
  EXPECT_EQ(result_type(module, 0), "Tensor[(b, 2), f32]");
  EXPECT_EQ(result_type(module, 1), "Tensor[(b, t, 2), f32]");
  check(module);
}

}  // namespace
}  // namespace symtile::onnx_import
