// Graph functions in, the virtual machine's program out: the last step of the pipeline.
//
// Expects a module whose graph functions hold only views (an OpCall placed as alias of its first
// argument, or anywhere else to be copied there), TileCall, ExternCall, GraphCall, If, Loop,
// MatchCast, ReadDims, DimsToTensor, CheckDims, ConstantNode, MakeTuple and GetItem; anything else
// is a bad_module diagnostic. Placements say where results live; results without a plan are on the
// heap. Checks over entry symbols, the facts of the entry function among them,
// come before everything else.
#pragma once

#include "symtile/format/artifact.h"
#include "symtile/ir/module.h"

namespace symtile {

struct LoweredProgram {
  format::Program program;
  std::vector<Constant> constants;   ///< bytes of program.constants, in order
  std::vector<std::string> kernels;  ///< tile functions in the order of program.kernels
};

/// Lowers every graph function that `main` reaches.
LoweredProgram lower_to_program(const Module& module);

/// `expr` over slots numbered by the order of `symbols`; CHECKs that it is known and closed. Used
/// for the formulas of KernelEntry, whose slots are the symbols of the tile function.
format::Formula lower_formula(const DimExpr& expr, const std::vector<std::string>& symbols);

/// Table of contents for people: producer, counts of functions, kernels, constants and their
/// bytes, and the memory formula.
format::Manifest make_manifest(const LoweredProgram& lowered, const std::string& producer);

}  // namespace symtile
