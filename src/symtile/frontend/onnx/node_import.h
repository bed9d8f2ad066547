// The import context of one node, and what the core does itself: constants, names and shapes.
#pragma once

#include "symtile/frontend/onnx/graph_import.h"

namespace symtile::onnx_import {

class NodeContext final : public KnownContext {
 public:
  NodeContext(GraphImporter& importer, Scope& scope, const pb::NodeProto& node, Location location);

  const std::string& op_type() const override { return node_.op_type(); }
  const std::string& node_name() const override { return node_.name(); }
  int opset() const override { return opset_; }
  const Location& location() const override { return location_; }

  int num_inputs() const override { return node_.input_size(); }
  bool has(int i) const override {
    return i >= 0 && i < node_.input_size() && !node_.input(i).empty() &&
           scope_.defines(node_.input(i));
  }
  ValueId in(int i) override;
  const Type& type(int i) override { return entry(i).type; }
  Constant constant(int i) override;
  std::optional<Dims> dims_value(int i) override;
  Dims require_dims(int i) override;
  const KnownTensor* known(int i) override;

  bool has_attr(const char* name) const override { return attribute(name) != nullptr; }
  int64_t attr_int(const char* name, int64_t fallback) const override;
  double attr_float(const char* name, double fallback) const override;
  std::string attr_text(const char* name, const std::string& fallback) const override;
  std::vector<int64_t> attr_ints(const char* name, std::vector<int64_t> fallback) const override;
  std::vector<double> attr_floats(const char* name, std::vector<double> fallback) const override;
  Constant attr_tensor(const char* name) const override;
  DType attr_dtype(const char* name, DType fallback) const override;

  int num_outputs() const override { return node_.output_size(); }
  bool wants(int k) const override {
    return k >= 0 && k < node_.output_size() && !node_.output(k).empty();
  }
  void out(int k, ValueId value) override;
  void out_dims(int k, Dims dims, bool scalar, DType dtype) override;

  OpBuilder& build() override { return scope_.state.build; }
  Subgraph import_subgraph(const char* attr, const std::vector<Type>& input_types) override;
  void inline_subgraph(const char* attr) override;
  bool choose_branch() override { return scope_.state.choices.choose(); }

  /// Imports the node and binds its outputs in the scope.
  void import(const pb::FunctionProto* function);

 private:
  Entry& entry(int i);
  const pb::AttributeProto* attribute(const char* name) const;
  const pb::AttributeProto* attribute(const char* name,
                                      pb::AttributeProto::AttributeType type) const;
  const pb::GraphProto& graph_attribute(const char* name) const;
  void set_output(int k, EntryPtr entry);
  bool import_core_operator();
  void import_constant();
  void import_shape();
  void run_importer();

  GraphImporter& importer_;
  Scope& scope_;
  const pb::NodeProto& node_;
  Location location_;
  int opset_;
  size_t first_value_;  ///< values from here on were made by this node
  std::vector<EntryPtr> inputs_, outputs_;
};

}  // namespace symtile::onnx_import
