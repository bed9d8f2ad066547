// Which operator types can be imported, and by what: the table ops.def and the few operators that
// the core does itself because they only concern constants, names and shapes.
#pragma once

#include <string>
#include <string_view>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

struct Importer {
  ImportFunction function = nullptr;  ///< null for a direct mapping
  const char* core_op = nullptr;      ///< direct mapping: same arguments, no attributes
};

/// Null when the operator type has no line in ops.def.
const Importer* find_importer(std::string_view op_type);

/// Constant, Identity, Shape, Size: done in node_import.cpp.
bool is_core_operator(std::string_view op_type);

/// Whether attributes.def lists the attribute for the operator.
bool knows_attribute(std::string_view op_type, std::string_view attribute);

}  // namespace symtile::onnx_import
