// Dimensions of the model's inputs: one symbol for every named or unnamed free dimension, and the
// user's facts about them.
//
// ONNX dimension names are free text ("batch size", "W/8"); each becomes a symbol of its own that
// prints and parses, and equal names become the same symbol. A dimension without a name is called
// `<input>_d<axis>`. The user may call a dimension by its ONNX name or by its symbol.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "symtile/frontend/onnx/schema.h"
#include "symtile/ir/graph.h"

namespace symtile::onnx_import {

class InputDims {
 public:
  InputDims(const pb::GraphProto& graph, const std::set<std::string>& initialised, Location where);

  /// "W=48..4096", "batch=1" or a fact such as "W % 8 == 0". Diagnostics: unknown_name (lists the
  /// names), bad_shape_fact.
  void apply(const std::vector<std::string>& texts, Facts& facts);
  /// Type of an input; `unsupported` when it is no tensor or its rank is missing.
  Type type(const pb::ValueInfoProto& input) const;

 private:
  DimExpr dim(const pb::ValueInfoProto& input, int axis) const;
  void add(const std::string& onnx_name);
  /// The symbol of a name as the user writes it; empty when there is none.
  std::string find(const std::string& name) const;
  void apply_value(const std::string& text, const std::string& name, const std::string& value,
                   Facts& facts);
  [[noreturn]] void unknown(const std::string& text, const std::string& name) const;

  std::map<std::string, std::string> symbols_;  ///< by ONNX name
  std::set<std::string> taken_;
  DimSubstitution fixed_;
  Location where_;
};

}  // namespace symtile::onnx_import
