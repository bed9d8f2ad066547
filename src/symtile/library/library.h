// Library calls: functions outside the compiler that a graph may call with call_extern.
//
// A library call is one file library/<name>.cpp and one line in calls.def. An operator that has
// no loop form is done by the library call of the same name; the runtime finds the function by
// that name among its builtins. The record says for which arguments the call may be used.
#pragma once

#include <string_view>
#include <vector>

#include "symtile/ir/attributes.h"

namespace symtile {

struct LibraryCall {
  const char* name;
  /// One line for people: what it computes and who provides it.
  const char* summary;
  /// Whether the call can take arguments of these types (an absent optional argument is
  /// Type::object()) with these attributes.
  bool (*legal)(const std::vector<Type>& args, const Attributes& attrs);
};

/// All library calls, sorted by name; and lookup by name (null when there is none).
const std::vector<const LibraryCall*>& all_library_calls();
const LibraryCall* find_library_call(std::string_view name);

}  // namespace symtile
