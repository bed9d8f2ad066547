// Reductions. The axes are an attribute before opset 18 (ReduceSum: 13), then an input; when that
// is known at run time only, which axes are kept is a formula of its elements.
#include <map>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

const std::map<std::string, const char*, std::less<>>& core_names() {
  static const std::map<std::string, const char*, std::less<>> names = {
      {"ReduceL1", "reduce_l1"},          {"ReduceL2", "reduce_l2"},
      {"ReduceLogSum", "reduce_log_sum"}, {"ReduceLogSumExp", "reduce_log_sum_exp"},
      {"ReduceMax", "reduce_max"},        {"ReduceMean", "reduce_mean"},
      {"ReduceMin", "reduce_min"},        {"ReduceProd", "reduce_prod"},
      {"ReduceSum", "reduce_sum"},        {"ReduceSumSquare", "reduce_sum_square"},
  };
  return names;
}

/// 1 when the integers are equal, else 0.
DimExpr is_equal(const DimExpr& a, const DimExpr& b) { return 1 - min((a - b) * (a - b), 1); }

/// The values of the formulas as fresh symbols in [0, high], so that what follows computes with
/// plain symbols.
Dims name_values(ImportContext& c, const Dims& formulas, const char* hint, int64_t high) {
  OpBuilder& b = c.build();
  const Dims out = b.read_dims(b.dims_tensor(formulas), static_cast<int>(formulas.size()), hint);
  for (const DimExpr& d : out) b.function().facts.bound(*d.as_symbol(), 0, high);
  return out;
}

/// For every axis 1 when it is kept, 0 when one of the run-time `axes` names it.
Dims kept_axes(ImportContext& c, const Dims& axes, int rank) {
  Dims kept;
  for (int k = 0; k < rank; ++k) {
    DimExpr keep = 1;
    for (const DimExpr& a : axes) keep *= 1 - is_equal(floormod(a, rank), k);
    kept.push_back(keep);
  }
  return name_values(c, kept, "kept", 1);
}

/// Removes the reduced axes, which have extent 1: dimension t of the result is that of the t-th
/// kept axis.
ValueId drop_axes(ImportContext& c, ValueId y, const Dims& kept, size_t count) {
  const Dims dims = *c.build().type(y).dims;
  Dims out;
  for (size_t t = 0; t + count < dims.size(); ++t) {
    DimExpr extent = 0, before = 0;
    for (size_t k = 0; k < dims.size(); ++k) {
      extent += dims[k] * kept[k] * is_equal(before, static_cast<int64_t>(t));
      before += kept[k];
    }
    out.push_back(extent);
  }
  return c.reshape(y, out.empty() ? out : name_values(c, out, "d", kMaxDim));
}

void import_run_time_axes(ImportContext& c, const char* op) {
  const Dims axes = c.require_dims(1);
  const int rank = c.rank(0);
  if (axes.size() > static_cast<size_t>(rank)) {
    c.fail(DiagId::bad_attribute, "{} axes for an input of rank {}", axes.size(), rank);
  }
  for (const DimExpr& a : axes) {
    // Zero for -rank <= a < rank.
    c.build().check(max(a - (rank - 1), 0) + max(-rank - a, 0), 0,
                    fmt::format("axis {} is in range for rank {}", a.str(), rank));
  }
  const ValueId x = with_known_dims(c, c.in(0));
  const Dims kept = kept_axes(c, axes, rank);
  ValueId y = c.call(op, {x}, {{"kept", kept}});
  // One symbol a dimension, so that what follows computes with plain symbols.
  y = name_dims(c, y, std::vector<bool>(static_cast<size_t>(rank), true), "reduced");
  c.out(0, c.attr_int("keepdims", 1) != 0 ? y : drop_axes(c, y, kept, axes.size()));
}

}  // namespace

void import_reduce(ImportContext& c) {
  const char* op = core_names().at(c.op_type());
  Attributes attrs = {{"keepdims", c.attr_int("keepdims", 1)}};
  if (c.opset() < (c.op_type() == "ReduceSum" ? 13 : 18)) {
    // No axes, like an empty list, means all of them.
    const std::vector<int64_t> axes = c.attr_ints("axes", {});
    if (!axes.empty()) attrs.set("axes", axes);
    c.out(0, c.call(op, {c.in(0)}, std::move(attrs)));
    return;
  }
  const bool noop = c.attr_int("noop_with_empty_axes", 0) != 0;
  const bool given = c.has(1) && !(c.type(1).has_rank() && c.dims(1) == Dims{0});
  if (given && !c.constant(1) && !c.dims_value(1)) {
    import_run_time_axes(c, op);
    return;
  }
  const std::vector<int64_t> axes = given ? c.require_ints(1, "the axes") : std::vector<int64_t>{};
  if (!axes.empty()) {
    attrs.set("axes", axes);
  } else if (noop) {
    // Every element is reduced alone: the result still is |x|, x * x, ...
    attrs.set("axes", std::vector<int64_t>{});
  }
  c.out(0, c.call(op, {c.in(0)}, std::move(attrs)));
}

void import_arg_reduction(ImportContext& c) {
  c.out(0, c.call(c.op_type() == "ArgMax" ? "argmax" : "argmin", {c.in(0)},
                  {{"axis", c.attr_int("axis", 0)},
                   {"keepdims", c.attr_int("keepdims", 1)},
                   {"select_last_index", c.attr_int("select_last_index", 0)}}));
}

}  // namespace symtile::onnx_import
