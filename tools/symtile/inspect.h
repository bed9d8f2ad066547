// The parts of `symtile inspect`: each prints one view, as text or as one JSON object.
#pragma once

#include "commands.h"

namespace symtile {
struct FusionReport;
}

namespace symtile::cli {

struct InspectFlags {
  std::string file, after, kernel, view;
  std::vector<std::string> dims;
  CompileFlags compile;
  bool kernels = false, memory = false, fusion = false, program = false, json = false;
};

/// An artifact holds no IR: what there is to see are its interface, program and sections.
void inspect_artifact(const InspectFlags& flags);
/// Which operator went into which kernel, and why others did not.
void inspect_fusion(const std::string& model, const FusionReport& report, bool json);
void inspect_memory(const Module& module, const InspectFlags& flags);

}  // namespace symtile::cli
