// Running sums (docs/ir.md, "Scans") along long lines on a GPU: a block a line.
//
// The block goes along the line in parts. Each work-item combines a few neighbours, the results of
// the work-items are scanned in shared memory by doubling distances, and what the parts before came
// to is carried along. Short lines are better off with a work-item each.
#pragma once

#include "symtile/schedule/gpu/launch.h"

namespace symtile::gpu {

/// for lines.., i: y[here] = select(i > 0, y[here, one step before], start) op element
struct Scan {
  std::string buffer;
  std::vector<Expr> here;
  std::vector<Axis> lines;
  Axis along;
  BinaryOp op = BinaryOp::add;
  Expr start, element;
};
/// nullopt: `s` is nothing like it, or its lines are short.
std::optional<Scan> match_scan(const Stmt& s, const Facts& facts);
Stmt scan_launch(const Scan& scan, const Facts& facts, const GpuTarget& target, NameSource& names);

}  // namespace symtile::gpu
