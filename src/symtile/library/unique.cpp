// unique(x): the distinct elements (or slices along an axis) with positions and counts.
#include "symtile/library/library.h"

namespace symtile {

namespace {

bool legal(const std::vector<Type>& args, const Attributes&) {
  return args.size() == 1 && args[0].is_tensor();
}

}  // namespace

extern const LibraryCall unique_call;
const LibraryCall unique_call = {
    "unique", "distinct elements or slices, with first positions, inverse and counts (runtime)",
    legal};

}  // namespace symtile
