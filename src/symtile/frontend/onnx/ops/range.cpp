// Range: the number of elements is a formula, a number, or read at run time.
#include <cmath>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

/// max(ceil((limit - start) / delta), 0) of dimension formulas; nullopt when the sign of delta is
/// open.
std::optional<DimExpr> count_of(ImportContext& c, const DimExpr& start, const DimExpr& limit,
                                const DimExpr& delta) {
  const Facts& facts = c.facts();
  if (facts.proves_lt(0, delta))
    return facts.simplify(ceildiv(facts.simplify(max(limit - start, 0)), delta));
  if (facts.proves_lt(delta, 0))
    return facts.simplify(ceildiv(facts.simplify(max(start - limit, 0)), -delta));
  if (delta.is_const(0)) c.fail(DiagId::bad_attribute, "the delta is 0");
  return std::nullopt;
}

DimExpr count_of_constants(ImportContext& c, const ConstantData& start, const ConstantData& limit,
                           const ConstantData& delta) {
  const double step = delta.as_double(0);
  const double count = std::ceil((limit.as_double(0) - start.as_double(0)) / step);
  if (step == 0 || !(count < static_cast<double>(kMaxDim))) {
    c.fail(DiagId::bad_attribute, "a range from {} to {} by {}", start.as_double(0),
           limit.as_double(0), step);
  }
  return static_cast<int64_t>(std::max(count, 0.0));
}

/// The count computed by the graph itself.
DimExpr count_at_run_time(ImportContext& c, ValueId start, ValueId limit, ValueId delta) {
  const auto wide = [&](ValueId v) { return c.cast(v, DType::f64); };
  const ValueId span = c.call("sub", {wide(limit), wide(start)});
  const ValueId steps = c.call("ceil", {c.call("div", {span, wide(delta)})});
  const ValueId count = c.call("max", {steps, c.scalar_like(steps, 0)});
  const Dims read = c.build().read_dims(c.cast(count, DType::i64), 1, "count");
  return max(read.at(0), 0);
}

}  // namespace

void import_range(ImportContext& c) {
  ValueId scalar[3];
  std::optional<Dims> formula[3];
  Constant constant[3];
  for (int i = 0; i < 3; ++i) {
    scalar[i] = c.reshape(c.in(i), {});
    if (!is_float(c.dtype(i))) formula[i] = c.dims_value(i);
    constant[i] = c.constant(i);
  }
  std::optional<DimExpr> count;
  if (formula[0] && formula[1] && formula[2]) {
    count = count_of(c, formula[0]->at(0), formula[1]->at(0), formula[2]->at(0));
  } else if (constant[0] && constant[1] && constant[2]) {
    count = count_of_constants(c, *constant[0], *constant[1], *constant[2]);
  }
  if (!count) {
    count = count_at_run_time(c, scalar[0], scalar[1], scalar[2]);
    const ValueId y = c.call("range", {scalar[0], scalar[2]}, {{"length", Dims{*count}}});
    c.out(0, name_dims(c, y, {true}, "count"));
    return;
  }
  c.out(0, c.call("range", {scalar[0], scalar[2]}, {{"length", Dims{*count}}}));
}

}  // namespace symtile::onnx_import
