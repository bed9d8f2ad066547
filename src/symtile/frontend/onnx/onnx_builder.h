// Builds small ONNX models for the tests of the importer.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "symtile/frontend/onnx/onnx.h"
#include "symtile/frontend/onnx/schema.h"
#include "symtile/op/op.h"

namespace symtile::onnx_import {

using TestDim = std::variant<int, const char*>;
inline constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;

inline pb::AttributeProto& attr(pb::NodeProto& n, const char* name,
                                pb::AttributeProto::AttributeType type) {
  pb::AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline void set(pb::NodeProto& n, const char* name, int64_t value) {
  attr(n, name, pb::AttributeProto::INT).set_i(value);
}
inline void set(pb::NodeProto& n, const char* name, const std::vector<int64_t>& values) {
  pb::AttributeProto& a = attr(n, name, pb::AttributeProto::INTS);
  for (const int64_t v : values) a.add_ints(v);
}
inline void set(pb::NodeProto& n, const char* name, const pb::GraphProto& graph) {
  *attr(n, name, pb::AttributeProto::GRAPH).mutable_g() = graph;
}

inline void set_type(pb::ValueInfoProto& v, const std::string& name, int type,
                     const std::vector<TestDim>& dims) {
  v.set_name(name);
  auto& t = *v.mutable_type()->mutable_tensor_type();
  t.set_elem_type(type);
  auto& shape = *t.mutable_shape();
  for (const TestDim& d : dims) {
    auto& dim = *shape.add_dim();
    if (const int* value = std::get_if<int>(&d)) {
      dim.set_dim_value(*value);
    } else if (const char* text = std::get<const char*>(d); *text != '\0') {
      dim.set_dim_param(text);
    }
  }
}

/// A graph, or the body of a subgraph.
struct GraphBuilder {
  pb::GraphProto graph;

  GraphBuilder() { graph.set_name("g"); }
  void input(const std::string& name, int type, const std::vector<TestDim>& dims) {
    set_type(*graph.add_input(), name, type, dims);
  }
  void output(const std::string& name) { graph.add_output()->set_name(name); }
  pb::TensorProto& ints(const std::string& name, const std::vector<int64_t>& values,
                        bool scalar = false) {
    pb::TensorProto& t = *graph.add_initializer();
    t.set_name(name);
    t.set_data_type(kInt64);
    if (!scalar) t.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) t.add_int64_data(v);
    return t;
  }
  pb::TensorProto& floats(const std::string& name, const std::vector<float>& values,
                          bool scalar = false) {
    pb::TensorProto& t = *graph.add_initializer();
    t.set_name(name);
    t.set_data_type(kFloat);
    if (!scalar) t.add_dims(static_cast<int64_t>(values.size()));
    for (const float v : values) t.add_float_data(v);
    return t;
  }
  pb::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    pb::NodeProto& n = *graph.add_node();
    n.set_op_type(op);
    n.set_name(op + "_" + std::to_string(graph.node_size()));
    for (const std::string& i : inputs) n.add_input(i);
    for (const std::string& o : outputs) n.add_output(o);
    return n;
  }
};

struct ModelBuilder : GraphBuilder {
  pb::ModelProto model;

  explicit ModelBuilder(int64_t opset = 17) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
  }
  std::string bytes() {
    *model.mutable_graph() = graph;
    return model.SerializeAsString();
  }
  Module import(const std::vector<std::string>& dims = {}) {
    return import_onnx_bytes(bytes(), "test.onnx", {}, {dims});
  }
};

// ---- what was imported

template <typename Node>
const Node* find_node(const GraphFunction& f) {
  for (const Binding& b : f.bindings) {
    if (const auto* n = std::get_if<Node>(&b.node)) return n;
  }
  return nullptr;
}

inline std::string result_type(const Module& m, size_t k = 0) {
  const GraphFunction& f = m.graph("main");
  return f.type(f.results.at(k)).str();
}

inline void check(const Module& m) {
  verify(m, [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); });
}

}  // namespace symtile::onnx_import
