// checked_indices(x; extents): a copy of x, whose elements must be indices into the extents.
#include "symtile/library/library.h"

namespace symtile {

namespace {

bool legal(const std::vector<Type>& args, const Attributes&) {
  return args.size() == 1 && args[0].is_tensor() && is_int(args[0].dtype);
}

}  // namespace

extern const LibraryCall checked_indices_call;
const LibraryCall checked_indices_call = {
    "checked_indices", "a copy of indices, or an error that names the first that is out of range",
    legal};

}  // namespace symtile
