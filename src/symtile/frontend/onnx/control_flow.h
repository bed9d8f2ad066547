// What If, Loop and Scan share: binding calls with several results, and the types of values that
// are carried from one iteration to the next.
//
// A dimension that changes between iterations becomes a symbol of the body, bound at each entry;
// which dimensions those are is found by importing the body until nothing changes any more. In
// results, a dimension that only the callee knows becomes a fresh symbol through match_cast.
#pragma once

#include <exception>
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

/// A node that can never work on the values it gets: what follows from a branch never taken.
bool is_contradiction(const DiagnosticError& e);

std::set<std::string> function_names(const Module& module);
/// Removes the functions that an abandoned import has made.
void remove_new_functions(Module& module, const std::set<std::string>& before);

/// The choices made at 'If' nodes whose branches do not fit together, in order of import.
struct BranchChoices {
  std::vector<bool> taken;
  size_t next = 0;

  bool choose();
  /// Goes on to the next combination; false when there is none.
  bool advance();
};

/// Imports one function with `attempt(BranchChoices&)`, again with other choices as long as it
/// meets contradictions. When no combination works, the first error stands.
template <typename F>
auto with_branch_choices(Module& module, F&& attempt) {
  const std::set<std::string> functions = function_names(module);
  BranchChoices choices;
  std::exception_ptr first;
  for (;;) {
    choices.next = 0;
    try {
      return attempt(choices);
    } catch (const DiagnosticError& e) {
      if (!first) first = std::current_exception();
      if (!is_contradiction(e) || !choices.advance()) std::rethrow_exception(first);
      remove_new_functions(module, functions);
    }
  }
}

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
