// CumSum and CumProd: the axis is an input; one that is only known at run time selects among the
// axes.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_cumsum(ImportContext& c) {
  const std::string op = c.op_type() == "CumSum" ? "cumsum" : "cumprod";
  const auto along = [&](int64_t axis) {
    return c.call(op, {c.in(0)},
                  {{"axis", axis},
                   {"exclusive", c.attr_int("exclusive", 0)},
                   {"reverse", c.attr_int("reverse", 0)}});
  };
  // Known as a constant or as a formula that is one.
  if (const auto known = c.dims_value(1); known && known->size() == 1 && known->at(0).is_const()) {
    c.out(0, along(*known->at(0).as_const()));
    return;
  }
  const int rank = c.rank(0);
  if (rank == 0) c.fail(DiagId::type_mismatch, "the input must have rank 1 or more");
  const ValueId axis = c.reshape(c.in(1), {});
  ValueId result = along(rank - 1);
  for (int d = rank - 1; d-- > 0;) {
    const ValueId from_front = c.call("equal", {axis, c.scalar_like(axis, d)});
    const ValueId from_back = c.call("equal", {axis, c.scalar_like(axis, d - rank)});
    result = c.call("where", {c.call("logical_or", {from_front, from_back}), along(d), result});
  }
  c.out(0, result);
}

}  // namespace symtile::onnx_import
