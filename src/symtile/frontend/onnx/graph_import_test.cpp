// Order, names, functions, control flow and dimensions of imported graphs.
#include <gtest/gtest.h>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/onnx_builder.h"
#include "symtile/op/op.h"

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

template <typename Node>
const Node* find_node(const GraphFunction& f) {
  for (const Binding& b : f.bindings) {
    if (const auto* n = std::get_if<Node>(&b.node)) return n;
  }
  return nullptr;
}

std::string result_type(const Module& m, size_t k = 0) {
  const GraphFunction& f = m.graph("main");
  return f.type(f.results.at(k)).str();
}

void check(const Module& m) {
  verify(m, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
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

TEST(graph_import, if_at_run_time) {
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

TEST(graph_import, if_known_at_import) {
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

TEST(graph_import, branches_of_different_rank) {
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

TEST(graph_import, a_branch_that_contradicts_its_shapes) {
  ModelBuilder m = with_if();
  auto& no = *m.graph.mutable_node(0)->mutable_attribute(1)->mutable_g();
  set(*no.mutable_node(0), "axis", 7);
  no.mutable_node(0)->mutable_attribute()->DeleteSubrange(0, 1);
  const Module module = m.import();
  EXPECT_EQ(result_type(module), "Tensor[(n, 4), f32]");
  EXPECT_TRUE(find_node<ReadDims>(module.graph("main"))) << "the condition is checked at run time";
  check(module);
}

TEST(graph_import, constants_and_formulas_are_not_captured) {
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

TEST(graph_import, loop) {
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

TEST(graph_import, loop_that_grows_a_value) {
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

TEST(graph_import, scan) {
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

TEST(graph_import, scan_of_a_batch) {
  ModelBuilder m = with_scan(8);
  const Module module = m.import();
  EXPECT_EQ(result_type(module, 0), "Tensor[(b, 2), f32]");
  EXPECT_EQ(result_type(module, 1), "Tensor[(b, t, 2), f32]");
  check(module);
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
