#include <algorithm>

#include "symtile/op/op.h"

namespace symtile {

#define OP(name) extern const OpRecord name##_op;
#include "symtile/op/ops.def"
#undef OP

const std::vector<const OpRecord*>& all_ops() {
  static const std::vector<const OpRecord*> ops = [] {
    std::vector<const OpRecord*> out = {
#define OP(name) &name##_op,
#include "symtile/op/ops.def"
#undef OP
    };
    std::sort(out.begin(), out.end(), [](const OpRecord* a, const OpRecord* b) {
      return std::string_view(a->name) < std::string_view(b->name);
    });
    return out;
  }();
  return ops;
}

const OpRecord* find_op(std::string_view name) {
  const auto& ops = all_ops();
  const auto it = std::lower_bound(
      ops.begin(), ops.end(), name,
      [](const OpRecord* op, std::string_view n) { return std::string_view(op->name) < n; });
  return it != ops.end() && (*it)->name == name ? *it : nullptr;
}

}  // namespace symtile
