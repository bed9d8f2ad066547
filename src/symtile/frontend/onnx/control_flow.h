// What If, Loop and Scan share: binding calls with several results, and the types of values that
// are carried from one iteration to the next.
//
// A dimension that changes between iterations becomes a symbol of the body, bound at each entry;
// which dimensions those are is found by importing the body until nothing changes any more. In
// results, a dimension that only the callee knows becomes a fresh symbol through match_cast.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

Dims symbols_of(const std::vector<std::string>& names);

/// The facts of `facts` that mention no symbol outside `symbols`.
Facts restrict_facts(const Facts& facts, const std::set<std::string>& symbols);

/// Appends a call and returns its results; "?" dimensions get fresh symbols called after `hint`.
std::vector<ValueId> bind_results(OpBuilder& build, GraphNode node, const std::vector<Type>& types,
                                  const std::string& hint);

struct CarriedBody {
  ImportContext::Subgraph sub;
  std::vector<Type> carried;      ///< parameter types of the carried values
  std::set<std::string> varying;  ///< symbols of the body for dimensions that change
  /// Types of the carried values after the loop: varying dimensions are "?".
  std::vector<Type> carried_results() const;
  /// A result type of the body as the outer function sees it.
  Type outer_type(const Type& t) const;
};

/// Imports a body whose inputs are `before`, the carried values, `after`, and whose results from
/// `first_result` on are the carried values.
CarriedBody import_carried_body(ImportContext& c, const char* attr, const std::vector<Type>& before,
                                std::vector<Type> carried, const std::vector<Type>& after,
                                size_t first_result);

}  // namespace symtile::onnx_import
