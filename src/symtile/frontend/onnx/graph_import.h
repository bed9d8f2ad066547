// Imports the nodes of graphs, subgraphs and model-local functions into graph functions.
#pragma once

#include "symtile/frontend/onnx/graph_scope.h"
#include "symtile/frontend/onnx/tensor_proto.h"

namespace symtile::onnx_import {

class GraphImporter {
 public:
  GraphImporter(const CheckedModel& checked, Module& module, TensorReader& tensors,
                std::string file_name)
      : checked_(checked), module_(module), tensors_(tensors), file_(std::move(file_name)) {}

  const std::string& file() const { return file_; }
  Module& module() { return module_; }

  /// Defines the initialisers and imports the nodes of a graph in `scope`.
  void graph(Scope& scope, const pb::GraphProto& graph);
  /// A graph attribute as a function of its own; see ImportContext::import_subgraph.
  ImportContext::Subgraph subgraph(Scope& outer, const pb::GraphProto& graph,
                                   const std::vector<Type>& input_types, const std::string& name,
                                   const Location& where);
  /// The outputs of a graph without inputs, imported in place.
  std::vector<EntryPtr> inlined(Scope& outer, const pb::GraphProto& graph, const Location& where);
  /// The outputs of a call of a model-local function, inlined.
  std::vector<EntryPtr> call(Scope& caller, const pb::NodeProto& node,
                             const pb::FunctionProto& function, const Location& where);
  /// The tensor as a constant; read once.
  Constant tensor(const pb::TensorProto& tensor, const Location& where);
  /// The attribute, looked up in the frame when it refers to an attribute of the function; null
  /// when that is absent.
  static const pb::AttributeProto* resolve(const pb::AttributeProto& a, const FunctionFrame& frame);
  int64_t opset(const pb::NodeProto& node, const FunctionFrame& frame) const;

 private:
  ImportContext::Subgraph subgraph(Scope& outer, const pb::GraphProto& graph,
                                   const std::vector<Type>& input_types, const std::string& name,
                                   const Location& where, BranchChoices& choices);
  void nodes(Scope& scope, const void* key,
             const google::protobuf::RepeatedPtrField<pb::NodeProto>& list);
  void node(Scope& scope, const pb::NodeProto& node);

  const CheckedModel& checked_;
  Module& module_;
  TensorReader& tensors_;
  std::string file_;
  std::unordered_map<const pb::TensorProto*, Constant> read_;
  int64_t imported_ = 0;
};

}  // namespace symtile::onnx_import
