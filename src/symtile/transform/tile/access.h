// What a tile function in compute form does with its buffers: its stages, and how they are read.
//
// This is the compiler's only source of knowledge about a kernel ("analysis feedback", Relax §4.2):
// fusion, in-place planning and schedules ask the body, never a tag on the operator.
#pragma once

#include <optional>
#include <vector>

#include "symtile/ir/module.h"

namespace symtile {

/// The body of a compute-form function, taken apart: temporaries and stages in order.
struct ComputeForm {
  std::vector<Buffer> temporaries;
  std::vector<ComputeStmt> stages;
};

/// nullopt when the body has statements of the scheduled form.
std::optional<ComputeForm> compute_form(const TileFunction& f);
/// The reverse: allocations around the stages.
Stmt make_body(const ComputeForm& form);

/// The form without axes of extent 1 (output and reduction axes alike): only their index 0 exists.
/// Stages then have fewer axes than their buffers have dimensions, so this is for analysis and for
/// schedules, which address buffers flat; a reduction keeps at least one axis.
ComputeForm squeeze_unit_axes(ComputeForm form);

/// All loads of `e`, those inside reductions included.
std::vector<const Load*> loads_of(const Expr& e);
/// True when variable `name`, or one of `axes`, occurs in `e`.
bool depends_on(const Expr& e, const std::string& name);
bool depends_on_any(const Expr& e, const std::vector<Axis>& axes);
bool has_reduction(const Expr& e);
/// The only reduction in `e`, however often it is named; undefined when there is none or several.
Expr only_reduction(const Expr& e);
/// `e` itself, when it is a reduction of this kind over one axis.
const ReduceExpr* reduction_over_one_axis(const Expr& e, ReduceKind kind);
/// `e` is nothing but an element of `buffer`.
bool is_load_of(const Expr& e, const std::string& buffer);
/// True when the load's indices are exactly the stage's axes, in order.
bool is_identity_load(const Load& load, const ComputeStmt& stage);

/// How a kernel relates its single result to its inputs; ordered from simple to complex.
enum class KernelKind : uint8_t {
  elementwise,  ///< every load at the output index
  broadcast,    ///< loads at an ordered subsequence of the output index (or constants)
  injective,    ///< no reduction: each output element from O(1) input elements
  reduction,    ///< reductions, each input element read O(1) times in all
  contraction,  ///< a sum of products of two loads that both are read many times (matmul, conv)
  opaque,       ///< several results, or statements of the scheduled form
};
std::string_view name_of(KernelKind kind);
KernelKind classify(const TileFunction& f);

/// Positions of the inputs that result 0 may overwrite: one stage, no reduction, and every read of
/// the input is at the output index.
std::vector<int> inplace_inputs(const TileFunction& f);

/// True when `name` is one of the form's temporaries.
bool is_temporary(const ComputeForm& form, const std::string& name);

/// Number of leading axes that all stages share, reading temporaries only at their own row.
size_t shared_prefix(const ComputeForm& form, const Facts& facts);

}  // namespace symtile
