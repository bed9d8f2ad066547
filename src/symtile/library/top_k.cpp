// top_k(x): the k largest or smallest elements along an axis and their positions.
#include "symtile/library/library.h"

namespace symtile {

namespace {

bool legal(const std::vector<Type>& args, const Attributes&) {
  // The axis attribute is a position from the front only when the rank is known.
  return args.size() == 1 && args[0].is_tensor() && args[0].has_rank() && args[0].rank() >= 1;
}

}  // namespace

extern const LibraryCall top_k_call;
const LibraryCall top_k_call = {
    "top_k", "the k largest or smallest elements along an axis, with positions (runtime)", legal};

}  // namespace symtile
