// nonzero(x): the positions of the elements that are not zero, as columns of an i64 matrix.
#include "symtile/library/library.h"

namespace symtile {

namespace {

bool legal(const std::vector<Type>& args, const Attributes&) {
  return args.size() == 1 && args[0].is_tensor();
}

}  // namespace

extern const LibraryCall nonzero_call;
const LibraryCall nonzero_call = {
    "nonzero", "positions of the elements that are not zero, in row-major order (runtime)", legal};

}  // namespace symtile
