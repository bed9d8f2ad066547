// Structural checks of a whole model before anything is imported, and the order of its nodes.
//
// Every graph, subgraph and function body is put into dependency order iteratively; cycles,
// undefined, duplicate and shadowing names, recursive functions, and counts, lengths or nesting
// beyond the limits are diagnostics (bad_model_file, too_large). Operators without an importer
// are reported all at once (unsupported), subgraphs and functions included.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "symtile/frontend/onnx/schema.h"

namespace symtile::onnx_import {

inline constexpr int kMaxGraphNesting = 32;
inline constexpr int kMaxNodes = 1'000'000;
inline constexpr int kMaxNameLength = 4096;

/// Domain, name and overload of a model-local function.
using FunctionKey = std::tuple<std::string, std::string, std::string>;
FunctionKey function_key(const pb::NodeProto& node);
FunctionKey function_key(const pb::FunctionProto& function);

struct CheckedModel {
  const pb::ModelProto* model = nullptr;
  std::map<FunctionKey, const pb::FunctionProto*> functions;
  /// Positions of the nodes in dependency order, by the address of the graph or function.
  std::unordered_map<const void*, std::vector<int>> order;

  const pb::FunctionProto* find_function(const pb::NodeProto& node) const;
};

CheckedModel check_model(const pb::ModelProto& model, const std::string& file_name);

/// One diagnostic that lists every node whose operator cannot be imported; nothing when there is
/// none.
void check_operators(const CheckedModel& checked, const std::string& file_name);

/// Version of a domain's operator set in a list of imports; 0 when it is not imported.
int64_t imported_version(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports,
                         const std::string& domain);

/// Calls f(const pb::GraphProto&) for every graph attribute of a node.
template <typename F>
void for_each_subgraph(const pb::NodeProto& node, F&& f) {
  for (const pb::AttributeProto& a : node.attribute()) {
    if (a.has_g()) f(a.g());
    for (const pb::GraphProto& g : a.graphs()) f(g);
  }
}

}  // namespace symtile::onnx_import
