// Order, names, functions and dimensions of imported graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/onnx_builder.h"

namespace symtile::onnx_import {
namespace {

int count_ops(const GraphFunction& f, const std::string& op) {
  int n = 0;
  for (const Binding& b : f.bindings) {
    const auto* call = std::get_if<OpCall>(&b.node);
    n += call && call->op == op ? 1 : 0;
  }
  return n;
}

TEST(graph_import, nodes_in_any_order) {
  ModelBuilder m;
  m.input("x", kFloat, {"n"});
  m.node("Neg", {"b"}, {"y"});
  m.node("Exp", {"a"}, {"b"});
  m.node("Abs", {"x"}, {"a"});
  m.output("y");
  const Module module = m.import();
  const GraphFunction& f = module.graph("main");
  std::vector<std::string> ops;
  for (const Binding& b : f.bindings)
    ops.push_back(std::get<OpCall>(b.node).op + " " + f.value(b.result).name);
  EXPECT_EQ(ops, (std::vector<std::string>{"abs a", "exp b", "neg y"}));
  check(module);
}

TEST(graph_import, names_and_locations) {
  ModelBuilder m;
  m.input("in put", kFloat, {"batch size", "W/8", ""});
  m.input("other", kFloat, {"W_8", -1});
  m.node("Abs", {"in put"}, {"/a/Abs_output_0"}).set_name("/a/Abs");
  m.node("Identity", {"/a/Abs_output_0"}, {"out"});
  m.output("out");
  const Module module = m.import();
  const GraphFunction& f = module.graph("main");
  EXPECT_EQ(f.value(f.params[0]).name, "in put");
  EXPECT_EQ(f.type(f.params[0]).str(), "Tensor[(batch_size, W_8, in_put_d2), f32]");
  EXPECT_EQ(f.type(f.params[1]).str(), "Tensor[(W_8_1, other_d1), f32]");
  EXPECT_EQ(f.result_names, (std::vector<std::string>{"out"}));
  EXPECT_EQ(f.value(f.results[0]).name, "/a/Abs_output_0");
  EXPECT_EQ(describe(f.bindings[0].location), "node '/a/Abs' (Abs) in test.onnx");
  check(module);
}

TEST(graph_import, initialisers) {
  ModelBuilder m;
  m.input("x", kFloat, {2});
  m.input("w", kFloat, {2});  // an input with a default is a constant
  m.floats("w", {1, 2});
  m.floats("unused", {1, 2, 3});
  m.node("Add", {"x", "w"}, {"a"});
  m.node("Mul", {"a", "w"}, {"y"});
  m.output("y");
  const Module module = m.import();
  const GraphFunction& f = module.graph("main");
  EXPECT_EQ(f.params.size(), 1u);
  EXPECT_EQ(f.bindings.size(), 3u) << "one constant, two operators";
}

TEST(graph_import, facts) {
  ModelBuilder m;
  m.input("x", kFloat, {"batch size", "W"});
  m.node("Abs", {"x"}, {"y"});
  m.output("y");
  EXPECT_EQ(result_type(m.import({"batch size=1", "W=48..4096"})), "Tensor[(1, W), f32]");
  EXPECT_EQ(m.import({"batch_size=2..2"}).graph("main").facts.upper_bound(DimExpr::symbol("W")),
            kMaxDim);
  EXPECT_EQ(m.import({"W=48..4096"}).graph("main").facts.upper_bound(DimExpr::symbol("W")), 4096);
  EXPECT_TRUE(
      m.import({"W % 8 == 0"}).graph("main").facts.proves_divisible(DimExpr::symbol("W"), 8));
  const auto refused = [&](const char* fact, DiagId id, const char* words) {
    try {
      (void)m.import({fact});
      FAIL() << fact;
    } catch (const DiagnosticError& e) {
      EXPECT_EQ(name_of(e.id()), name_of(id)) << e.what();
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  refused("H=1..2", DiagId::unknown_name, "they have: W, batch_size ('batch size')");
  refused("H % 8 == 0", DiagId::unknown_name, "'H'");
  refused("W=9..2", DiagId::bad_shape_fact, "LOW <= HIGH");
  refused("W=", DiagId::bad_shape_fact, "NAME=VALUE");
  refused("W=-4", DiagId::bad_shape_fact, "W=-4");
  refused("W=1..x", DiagId::bad_shape_fact, "1..x");
  refused("nonsense", DiagId::bad_shape_fact, "nonsense");
}

// Leaving out an attribute of a later operator set could change what a node computes.
TEST(graph_import, unknown_attributes_are_refused_together) {
  ModelBuilder m;
  m.input("x", kFloat, {"n"});
  set(m.node("Elu", {"x"}, {"a"}), "window", 3);
  m.node("Exp", {"a"}, {"b"});
  set(m.node("Neg", {"b"}, {"y"}), "axis", 0);
  m.output("y");
  try {
    (void)m.import();
    FAIL();
  } catch (const DiagnosticError& e) {
    EXPECT_EQ(name_of(e.id()), name_of(DiagId::unsupported));
    const std::string text = e.what();
    EXPECT_NE(text.find("node 'Elu_1': it has no attribute 'window'"), std::string::npos) << text;
    EXPECT_NE(text.find("node 'Neg_3': it has no attribute 'axis'"), std::string::npos) << text;
  }
}

pb::FunctionProto& scale_function(ModelBuilder& m) {
  m.model.add_opset_import()->set_domain("local");
  m.model.mutable_opset_import(1)->set_version(1);
  pb::FunctionProto& f = *m.model.add_functions();
  f.set_domain("local");
  f.set_name("Pick");
  f.add_input("a");
  f.add_input("optional");
  f.add_output("b");
  f.add_attribute("axis");
  f.add_opset_import()->set_version(17);
  pb::NodeProto& n = *f.add_node();
  n.set_op_type("Concat");
  n.add_input("a");
  n.add_input("a");
  n.add_output("b");
  pb::AttributeProto& a = *n.add_attribute();
  a.set_name("axis");
  a.set_ref_attr_name("axis");
  a.set_type(pb::AttributeProto::INT);
  return f;
}

TEST(graph_import, functions_are_inlined) {
  ModelBuilder m;
  scale_function(m);
  m.input("x", kFloat, {"n", "m"});
  auto& first = m.node("Pick", {"x"}, {"t"});
  first.set_domain("local");
  set(first, "axis", 0);
  auto& second = m.node("Pick", {"t"}, {"y"});
  second.set_domain("local");
  set(second, "axis", 1);
  m.output("y");
  const Module module = m.import();
  EXPECT_EQ(result_type(module), "Tensor[(2*n, 2*m), f32]");
  EXPECT_EQ(count_ops(module.graph("main"), "concat"), 2);
  EXPECT_EQ(module.graph("main").value(module.graph("main").results[0]).name, "y");
  check(module);
}

TEST(graph_import, function_attributes) {
  ModelBuilder m;
  pb::FunctionProto& f = scale_function(m);
  m.input("x", kFloat, {"n", "m"});
  m.node("Pick", {"x"}, {"y"}).set_domain("local");
  m.output("y");
  EXPECT_THROW((void)m.import(), DiagnosticError) << "the attribute is missing";
  f.clear_attribute();
  pb::AttributeProto& fallback = *f.add_attribute_proto();
  fallback.set_name("axis");
  fallback.set_type(pb::AttributeProto::INT);
  fallback.set_i(1);
  EXPECT_EQ(result_type(m.import()), "Tensor[(n, 2*m), f32]");
}

TEST(graph_import, small_constant_expressions_are_known) {
  ModelBuilder m;
  m.input("x", kFloat, {"n", 12});
  m.ints("v", {0, 3, 5});
  m.ints("shape2", {1, 3});
  m.node("Reshape", {"v", "shape2"}, {"matrix"});  // no rule: rank 2
  m.node("ReduceMax", {"matrix"}, {"max"});        // no rule either
  m.ints("flat", {-1});
  m.node("Reshape", {"max", "flat"}, {"five"});
  m.ints("minus1", {-1});
  m.ints("minus9", {-9});
  m.node("Add", {"five", "minus9"}, {"minus4"});
  m.node("Neg", {"minus4"}, {"four"});
  set(m.node("Concat", {"minus1", "four"}, {"target"}), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  m.output("y");
  EXPECT_EQ(result_type(m.import()), "Tensor[(3*n, 4), f32]");
}

TEST(graph_import, run_time_shapes_keep_what_is_known) {
  ModelBuilder m;
  m.input("x", kFloat, {"n", "m"});
  m.input("rows", kInt64, {1});
  m.node("Shape", {"x"}, {"shape"});
  m.ints("zero", {0});
  m.node("Gather", {"shape", "zero"}, {"n"});
  set(m.node("Concat", {"n", "rows"}, {"target"}), "axis", 0);
  m.floats("fill", {1}, true);
  m.node("Expand", {"fill", "target"}, {"y"});
  m.output("y");
  const std::string type = result_type(m.import());
  EXPECT_EQ(type.substr(0, 11), "Tensor[(n, ") << type;
}

TEST(graph_import, supported_operators_are_sorted) {
  const std::vector<std::string> ops = supported_onnx_ops();
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end()));
  for (const char* op : {"Constant", "If", "Loop", "Reshape", "Shape"}) {
    EXPECT_TRUE(std::binary_search(ops.begin(), ops.end(), op)) << op;
  }
}

}  // namespace
}  // namespace symtile::onnx_import
