#include "symtile/transform/passes.h"

namespace symtile {

#define PASS(name, level, summary) void name(Module&, PassContext&);
#include "symtile/transform/passes.def"
#undef PASS

const std::vector<PassRecord>& all_passes() {
  static const std::vector<PassRecord> passes = {
#define PASS(name, level, summary) {#name, #level, summary, name},
#include "symtile/transform/passes.def"
#undef PASS
  };
  return passes;
}

const PassRecord* find_pass(std::string_view name) {
  for (const PassRecord& pass : all_passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

}  // namespace symtile
