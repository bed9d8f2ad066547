// State of an import: graph functions under construction and the ONNX names visible in them.
//
// An ONNX value is an Entry. Constants and values known as formulas have no graph value until an
// importer asks for one, so shape arithmetic and unused weights never reach the graph. A name that
// a subgraph takes from outside is captured when it is first used: constants and formulas are
// simply used again, anything else becomes a parameter of the subgraph's function.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "symtile/frontend/onnx/check_model.h"
#include "symtile/frontend/onnx/control_flow.h"
#include "symtile/frontend/onnx/shape_values.h"

namespace symtile::onnx_import {

struct Entry {
  std::string name;  ///< ONNX name, for the graph value
  Type type;
  ValueId value;                     ///< invalid until somebody asks for it
  Constant constant;                 ///< contents, when constant
  std::optional<KnownTensor> known;  ///< elements known at import, perhaps not all
  bool searched = false;             ///< constant and known have been looked for
};
using EntryPtr = std::shared_ptr<Entry>;

EntryPtr entry_of(Constant constant);
EntryPtr entry_of(KnownTensor known);

class FunctionState {
 public:
  FunctionState(Module& module, std::string name, BranchChoices& branch_choices)
      : build(module, function), choices(branch_choices) {
    function.name = std::move(name);
  }

  GraphFunction function;
  OpBuilder build;
  BranchChoices& choices;

  struct Capture {
    ValueId outer, inner;
  };
  std::vector<Capture> captures;

  /// The graph value of an entry of this function.
  ValueId materialise(Entry& entry);
  /// Gives a value its ONNX name, with a suffix when the name is taken.
  void rename(ValueId value, const std::string& name);
  /// Contents of a value bound to a constant or to a small expression of constants (fold.cpp).
  Constant fold(ValueId value);
  /// The symbols in scope behind the last binding.
  std::set<std::string> symbols_in_scope() const;
  /// Keeps only the dim_params and facts whose symbols occur in the function.
  void drop_unused_symbols();

 private:
  std::unordered_map<const ConstantData*, ValueId> constants_;
  std::unordered_set<std::string> names_;
  size_t scanned_names_ = 0;
  std::unordered_map<int32_t, size_t> binding_of_;
  size_t scanned_bindings_ = 0;
  const Binding* binding(ValueId value);
  Constant fold(ValueId value, int depth);
};

/// The model-local function whose nodes are being imported; the model itself has none.
struct FunctionFrame {
  const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>* imports = nullptr;
  std::map<std::string, const pb::AttributeProto*> attributes;  ///< by `ref_attr_name`
  bool in_function = false;
  int depth = 0;
  std::string prefix;  ///< of node names in locations
};

struct Scope {
  Scope* parent;
  FunctionState& state;
  const FunctionFrame& frame;
  std::unordered_map<std::string, EntryPtr> names;

  /// The entry of a name, captured into this scope's function if need be; null when undefined.
  EntryPtr find(const std::string& name);
  /// Whether `find` would find it; false for the absent optional inputs of a function.
  bool defines(const std::string& name) const;
};

}  // namespace symtile::onnx_import
