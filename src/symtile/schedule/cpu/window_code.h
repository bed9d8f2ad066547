// Loops that templates over sliding windows are made of: copying the positions of a block, finding
// a tap in the copy, and visiting the outputs of a block.
#pragma once

#include "symtile/schedule/cpu/loops.h"
#include "symtile/schedule/cpu/window.h"

namespace symtile {

/// Positions [begin, end) of every phase of the window's plane, phase after phase `span` elements
/// apart: buffer[base + phase * span + position - begin] = value. `value` is over the axes' `at`
/// variables. Positions behind the plane become zero: no tap of an output reads them, but lanes
/// computed in vain do, and what is left there from before may be slow (denormal) numbers.
Stmt copy_window(const SlidingWindow& w, const Expr& value, const std::string& buffer,
                 const Expr& base, const DimExpr& span, const Expr& begin, const Expr& end,
                 const Facts& facts, NameSource& names);

/// Distance in that copy from an output's position to the element of its tap (one coordinate an
/// axis of the window).
Expr tap_distance(const SlidingWindow& w, const std::vector<Expr>& tap, const DimExpr& span);

/// Visits the outputs at positions [begin, begin + count), without the gaps between rows:
/// body(values of the output axes, position - begin) in a vectorised loop over the last axis.
using OutputBody =
    std::function<Stmt(const std::map<std::string, Expr>& outputs, const Expr& position)>;
Stmt for_each_output(const SlidingWindow& w, const Expr& begin, const Expr& count,
                     NameSource& names, const OutputBody& body);

}  // namespace symtile
