// The table of builtins.
#include "symtile/runtime/builtins/builtin.h"

namespace symtile {

#define BUILTIN(name) void name##_builtin(BuiltinContext& c);
#include "symtile/runtime/builtins/builtins.def"
#undef BUILTIN

BuiltinFunction find_builtin(std::string_view name) {
  struct Entry {
    std::string_view name;
    BuiltinFunction function;
  };
  static constexpr Entry entries[] = {
#define BUILTIN(name) {#name, name##_builtin},
#include "symtile/runtime/builtins/builtins.def"
#undef BUILTIN
  };
  for (const Entry& e : entries) {
    if (e.name == name) return e.function;
  }
  return nullptr;
}

}  // namespace symtile
