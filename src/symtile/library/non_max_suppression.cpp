// non_max_suppression(boxes, scores, ...): greedy selection of boxes that do not overlap.
#include "symtile/library/library.h"

namespace symtile {

namespace {

bool legal(const std::vector<Type>& args, const Attributes&) {
  return args.size() >= 2 && args.size() <= 5 && args[0].is_tensor() &&
         args[0].dtype == DType::f32 && args[1].is_tensor() && args[1].dtype == DType::f32;
}

}  // namespace

extern const LibraryCall non_max_suppression_call;
const LibraryCall non_max_suppression_call = {
    "non_max_suppression", "boxes left after dropping those that overlap a better one (runtime)",
    legal};

}  // namespace symtile
