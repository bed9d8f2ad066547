// The table of library calls.
#include "symtile/library/library.h"

#include <algorithm>

namespace symtile {

#define LIBRARY_CALL(name) extern const LibraryCall name##_call;
#include "symtile/library/calls.def"
#undef LIBRARY_CALL

const std::vector<const LibraryCall*>& all_library_calls() {
  static const std::vector<const LibraryCall*> calls = [] {
    std::vector<const LibraryCall*> out = {
#define LIBRARY_CALL(name) &name##_call,
#include "symtile/library/calls.def"
#undef LIBRARY_CALL
    };
    std::sort(out.begin(), out.end(), [](const LibraryCall* a, const LibraryCall* b) {
      return std::string_view(a->name) < std::string_view(b->name);
    });
    return out;
  }();
  return calls;
}

const LibraryCall* find_library_call(std::string_view name) {
  for (const LibraryCall* call : all_library_calls()) {
    if (call->name == name) return call;
  }
  return nullptr;
}

}  // namespace symtile
