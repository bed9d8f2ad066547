#include "symtile/frontend/onnx/graph_import.h"

#include <algorithm>

#include "symtile/frontend/onnx/load_model.h"
#include "symtile/frontend/onnx/node_import.h"

namespace symtile::onnx_import {
namespace {

// Inlining functions multiplies nodes; a small file must not become an unbounded graph.
constexpr int64_t kMaxImportedNodes = kMaxNodes;
constexpr int kMaxCallDepth = 64;

}  // namespace

Constant GraphImporter::tensor(const pb::TensorProto& t, const Location& where) {
  Constant& c = read_[&t];
  if (!c) c = tensors_.read(t, where);
  return c;
}

int64_t GraphImporter::opset(const pb::NodeProto& node, const FunctionFrame& frame) const {
  const std::string domain = normal_domain(node.domain());
  int64_t version = frame.imports ? imported_version(*frame.imports, domain) : 0;
  if (version == 0) version = imported_version(checked_.model->opset_import(), domain);
  return std::clamp<int64_t>(version, 1, kMaxOpset);
}

void GraphImporter::graph(Scope& scope, const pb::GraphProto& graph) {
  for (const pb::TensorProto& t : graph.initializer()) {
    // An input with an initialiser is a default that callers could replace; it is taken as fixed.
    const EntryPtr entry = entry_of(tensor(t, make_location(file_, "", "")));
    entry->name = t.name();
    scope.names[t.name()] = entry;
  }
  nodes(scope, &graph, graph.node());
}

void GraphImporter::nodes(Scope& scope, const void* key,
                          const google::protobuf::RepeatedPtrField<pb::NodeProto>& list) {
  for (const int i : checked_.order.at(key)) node(scope, list[i]);
}

void GraphImporter::node(Scope& scope, const pb::NodeProto& node) {
  if (++imported_ > kMaxImportedNodes) {
    fail(DiagId::too_large, make_location(file_, "", ""),
         "the model has more than {} nodes once its functions are expanded", kMaxImportedNodes);
  }
  NodeContext(*this, scope, node, nullptr).import(checked_.find_function(node));
}

ImportContext::Subgraph GraphImporter::subgraph(Scope& outer, const pb::GraphProto& graph,
                                                const std::vector<Type>& input_types,
                                                const std::string& name, const Location& where) {
  return with_branch_choices(module_, [&](BranchChoices& choices) {
    return subgraph(outer, graph, input_types, name, where, choices);
  });
}

ImportContext::Subgraph GraphImporter::subgraph(Scope& outer, const pb::GraphProto& graph,
                                                const std::vector<Type>& input_types,
                                                const std::string& name, const Location& where,
                                                BranchChoices& choices) {
  if (static_cast<size_t>(graph.input_size()) != input_types.size()) {
    fail(DiagId::bad_model_file, where, "its subgraph '{}' has {} inputs, but {} are needed",
         printable(graph.name()), graph.input_size(), input_types.size());
  }
  FunctionState state(module_, module_.fresh_name(sanitize_symbol(name)), choices);
  GraphFunction& f = state.function;
  // Reserves the name, and the place before the functions of nested subgraphs.
  module_.add(GraphFunction{.name = f.name});
  // All symbols of the outer function are there to be used; in the end, those that were.
  const std::set<std::string> outer_symbols = outer.state.symbols_in_scope();
  f.dim_params.assign(outer_symbols.begin(), outer_symbols.end());
  f.facts = outer.state.function.facts;
  state.build.location = where;

  Scope scope{&outer, state, outer.frame, {}};
  for (int i = 0; i < graph.input_size(); ++i) {
    const pb::ValueInfoProto& info = graph.input(i);
    auto entry = std::make_shared<Entry>();
    entry->name = info.name();
    entry->value = f.add_param(info.name(), input_types[static_cast<size_t>(i)]);
    scope.names[info.name()] = entry;
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    const pb::ValueInfoProto& info = graph.input(i);
    Entry& entry = *scope.names[info.name()];
    // Iteration number and condition may be declared as vectors of one element.
    const auto& declared = info.type().tensor_type();
    const Type& given = f.type(entry.value);
    if (given.rank() == 0 && declared.has_shape() && declared.shape().dim_size() == 1) {
      entry.value = state.build.call("reshape", {entry.value}, {{"shape", Dims{1}}});
    }
    entry.type = f.type(entry.value);
  }
  this->graph(scope, graph);
  state.build.location = where;
  ImportContext::Subgraph out;
  for (const pb::ValueInfoProto& info : graph.output()) {
    const EntryPtr entry = scope.find(info.name());
    if (!entry)
      fail(DiagId::bad_model_file, where, "output '{}' of its subgraph is not defined",
           printable(info.name()));
    f.results.push_back(state.materialise(*entry));
    out.result_types.push_back(f.type(f.results.back()));
  }
  state.drop_unused_symbols();
  out.function = f.name;
  out.dim_params = f.dim_params;
  for (const FunctionState::Capture& c : state.captures) out.captured.push_back(c.outer);
  module_.add(std::move(f));
  return out;
}

std::vector<EntryPtr> GraphImporter::inlined(Scope& outer, const pb::GraphProto& graph,
                                             const Location& where) {
  if (graph.input_size() != 0) {
    fail(DiagId::bad_model_file, where, "its subgraph '{}' has {} inputs, but none are given",
         printable(graph.name()), graph.input_size());
  }
  Scope scope{&outer, outer.state, outer.frame, {}};
  this->graph(scope, graph);
  std::vector<EntryPtr> out;
  for (const pb::ValueInfoProto& info : graph.output()) out.push_back(scope.find(info.name()));
  return out;
}

std::vector<EntryPtr> GraphImporter::call(Scope& caller, const pb::NodeProto& node,
                                          const pb::FunctionProto& function,
                                          const Location& where) {
  if (caller.frame.depth >= kMaxCallDepth) {
    fail(DiagId::too_large, where, "functions call each other more than {} deep", kMaxCallDepth);
  }
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    fail(DiagId::bad_model_file, where,
         "the function '{}' takes {} inputs and gives {} outputs, not {} and {}",
         printable(function.name()), function.input_size(), function.output_size(),
         node.input_size(), node.output_size());
  }
  FunctionFrame frame{
      &function.opset_import(), {}, true, caller.frame.depth + 1, where->node + "/"};
  for (const pb::AttributeProto& a : function.attribute_proto()) frame.attributes[a.name()] = &a;
  for (const pb::AttributeProto& a : node.attribute()) {
    if (const auto* value = resolve(a, caller.frame)) frame.attributes[a.name()] = value;
  }
  for (const std::string& name : function.attribute()) {
    if (!frame.attributes.count(name)) {
      fail(DiagId::bad_attribute, where, "the function '{}' needs the attribute '{}'",
           printable(function.name()), printable(name));
    }
  }
  Scope scope{nullptr, caller.state, frame, {}};
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < node.input_size() && !node.input(i).empty();
    // An absent optional input stays undefined; so does every use of it.
    if (given) scope.names[function.input(i)] = caller.find(node.input(i));
  }
  nodes(scope, &function, function.node());
  std::vector<EntryPtr> out;
  for (const std::string& name : function.output()) out.push_back(scope.find(name));
  return out;
}

}  // namespace symtile::onnx_import
