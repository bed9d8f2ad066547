// Gather, GatherElements, GatherND, ScatterElements, ScatterND and the old Scatter. Indices that
// are only known at run time are checked there: kernels would only keep them inside the tensor.
#include <algorithm>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {
namespace {

/// The constant that the elements of a value come from, through operators that only move elements.
Constant source_of_elements(ImportContext& c, ValueId v) {
  if (Constant constant = c.build().constant_of(v)) return constant;
  for (const Binding& b : c.build().function().bindings) {
    if (b.result != v) continue;
    const auto* call = std::get_if<OpCall>(&b.node);
    const bool moves = call && (call->op == "slice" || call->op == "reshape" ||
                                call->op == "transpose" || call->op == "expand");
    return moves ? source_of_elements(c, call->args[0]) : nullptr;
  }
  return nullptr;
}

/// Requires constant indices to be in range, now or (for extents that are formulas) at run time.
void check_constant(ImportContext& c, const ConstantData& indices, const Dims& extents) {
  const size_t columns = extents.size();
  for (size_t k = 0; k < columns; ++k) {
    int64_t low = 0, high = -1;
    for (int64_t i = static_cast<int64_t>(k); i < indices.element_count();
         i += static_cast<int64_t>(columns)) {
      low = std::min(low, indices.as_int(i));
      high = std::max(high, indices.as_int(i));
    }
    const int64_t worst = high >= 0 && high >= -(low + 1) ? high : low;
    const DimExpr least = worst >= 0 ? DimExpr(worst) + 1 : -DimExpr(worst);
    if (c.facts().proves_le(least, extents[k])) continue;
    if (c.facts().proves_lt(extents[k], least)) {
      c.fail(DiagId::shape_mismatch, "index {} is out of range for a dimension of {}", worst,
             extents[k].str());
    }
    c.build().check(max(least - extents[k], 0), 0,
                    fmt::format("index {} of {} is in range", worst, c.op_type()));
  }
}

/// Input 1, known to be indices into the extents.
ValueId checked_indices(ImportContext& c, const Dims& extents) {
  if (is_float(c.dtype(1)) || extents.empty()) return c.in(1);
  const Constant known = c.constant(1) ? c.constant(1) : source_of_elements(c, c.in(1));
  if (known) {
    check_constant(c, *known, extents);
    return c.in(1);
  }
  for (const DimExpr& d : extents) {
    if (d.is_unknown()) return c.in(1);
  }
  return c.call("checked_indices", {c.in(1)}, {{"extents", extents}});
}

ValueId along_axis(ImportContext& c) {
  if (!c.type(0).has_rank()) return c.in(1);
  const int axis = c.normalize_axis(c.attr_int("axis", 0), c.rank(0));
  return checked_indices(c, {c.dims(0)[static_cast<size_t>(axis)]});
}

/// The last dimension of the indices says how many dimensions they pick from, behind `batch` ones.
ValueId of_leading_axes(ImportContext& c, int64_t batch) {
  if (!c.type(0).has_rank() || c.rank(1) == 0) return c.in(1);
  const auto count = c.dims(1).back().as_const();
  if (!count) {
    c.fail(
        DiagId::unsupported,
        "the last dimension of the indices ({}) says how many dimensions they pick from; it must "
        "be a number",
        c.dims(1).back().str());
  }
  if (batch < 0 || *count < 0 || batch + *count > c.rank(0)) {
    c.fail(DiagId::shape_mismatch, "indices of {} dimensions behind {} for an input of rank {}",
           *count, batch, c.rank(0));
  }
  const auto first = c.dims(0).begin() + static_cast<std::ptrdiff_t>(batch);
  return checked_indices(c, Dims(first, first + static_cast<std::ptrdiff_t>(*count)));
}

}  // namespace

void import_gather(ImportContext& c) {
  c.out(0, c.call("gather", {c.in(0), along_axis(c)}, {{"axis", c.attr_int("axis", 0)}}));
}

void import_gather_elements(ImportContext& c) {
  c.out(0, c.call("gather_elements", {c.in(0), along_axis(c)}, {{"axis", c.attr_int("axis", 0)}}));
}

void import_gather_nd(ImportContext& c) {
  const int64_t batch = c.attr_int("batch_dims", 0);
  c.out(0, c.call("gather_nd", {c.in(0), of_leading_axes(c, batch)}, {{"batch_dims", batch}}));
}

void import_scatter_elements(ImportContext& c) {
  c.out(0,
        c.call("scatter_elements", {c.in(0), along_axis(c), c.in(2)},
               {{"axis", c.attr_int("axis", 0)}, {"reduction", c.attr_text("reduction", "none")}}));
}

void import_scatter_nd(ImportContext& c) {
  c.out(0, c.call("scatter_nd", {c.in(0), of_leading_axes(c, 0), c.in(2)},
                  {{"reduction", c.attr_text("reduction", "none")}}));
}

}  // namespace symtile::onnx_import
