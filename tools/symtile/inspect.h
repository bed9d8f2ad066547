// The parts of `symtile inspect`: each prints one view, as text or as one JSON object.
#pragma once

#include "commands.h"

namespace symtile::cli {

struct InspectFlags {
  std::string file, after, kernel, view;
  std::vector<std::string> dims;
  CompileFlags compile;
  bool kernels = false, memory = false, fusion = false, program = false, json = false;
};

/// An artifact holds no IR: what there is to see are its interface, program and sections.
void inspect_artifact(const InspectFlags& flags);
void inspect_memory(const Module& module, const InspectFlags& flags);

}  // namespace symtile::cli
