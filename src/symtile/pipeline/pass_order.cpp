// The phases of a compilation: the only place that says which pass runs when.
#include "symtile/pipeline/pipeline.h"

namespace symtile {

const std::vector<std::string>& pass_order(bool optimize) {
  static const std::vector<std::string> full = {
      "dead_code",
      "canonicalize",
      "fold_constants",
      "fold_batch_norm",
      "canonicalize",
      "common_subexpressions",
      "dead_code",
      "recognize_quantized",
      "recognize_operators",
      "recognize_attention",
      "select_layouts",
      "canonicalize",
      "dead_code",
      "fold_constants",
      "fold_input_scales",  // behind the patterns that a scale is a part of
      "merge_siblings",
      "canonicalize",
      "dead_code",
      "legalize",
      "fuse",
      "prepack_bytes",
      "prepack_constants",
      "dead_code",
      "plan_memory",
  };
  static const std::vector<std::string> minimal = {"dead_code", "legalize", "dead_code",
                                                   "plan_memory"};
  return optimize ? full : minimal;
}

}  // namespace symtile
