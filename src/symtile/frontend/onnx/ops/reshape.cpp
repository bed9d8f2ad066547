// Reshape: -1 is solved for, 0 copies the input's dimension (unless allowzero), both also when the
// target is a formula or only known at run time.
#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {

namespace {

/// The element count of all other axes may be 0 only where the text of the specification allows it.
DimExpr solve_minus_one(ImportContext& c, const Dims& in, const Dims& others) {
  if (product(others).is_const(0)) {
    c.fail(DiagId::shape_mismatch,
           "-1 in the target shape has no unique value: the other dimensions have no elements");
  }
  return quotient(in, others, c.facts());
}

/// A target with entries that may turn out to be 0 or -1 at run time: the graph resolves the shape
/// as ONNX says and reads it into fresh symbols, which keeps the formulas of what follows simple.
Dims resolve_at_run_time(ImportContext& c, const Dims& in, const Dims& target, bool allow_zero,
                         const std::vector<bool>& open) {
  OpBuilder& build = c.build();
  const auto number = [&](int64_t v) { return build.scalar(DType::i64, static_cast<double>(v)); };
  const auto count = static_cast<int64_t>(target.size());
  ValueId shape = c.cast(c.in(1), DType::i64);
  if (!allow_zero) {
    Dims copied = in;
    copied.resize(target.size(), 0);
    const ValueId is_zero = c.call("equal", {shape, number(0)});
    shape = c.call("where", {is_zero, build.dims_tensor(std::move(copied)), shape});
  }
  const ValueId inferred = c.call("equal", {shape, number(-1)});
  const ValueId others = c.call("reduce_prod", {c.call("where", {inferred, number(1), shape})},
                                {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{1}}});
  // Dividing by 0 gives 0; whether the counts agree is checked by the reshape itself.
  ValueId rest = c.call("div", {build.dims_tensor({product(in)}), others});
  // allowzero forbids a 0 beside a -1: no dimension then, which the check below finds.
  if (allow_zero) rest = c.call("where", {c.call("equal", {others, number(0)}), number(-1), rest});
  const Dims read =
      build.read_dims(c.call("where", {inferred, rest, shape}), static_cast<int>(count), "r");
  Dims out = target;
  for (size_t d = 0; d < target.size(); ++d) {
    if (!open[d] && !target[d].is_const(-1)) continue;
    out[d] = read[d];
    build.check(min(read[d], 0), 0,
                fmt::format("entry {} of the target shape stands for a dimension", d));
    build.function().facts.bound(*read[d].as_symbol(), 0, kMaxDim);
  }
  return out;
}

}  // namespace

void import_reshape(ImportContext& c) {
  Dims target;
  if (c.opset() < 5) {
    for (int64_t d : c.attr_ints("shape", {})) target.emplace_back(d);
  } else {
    target = require_simple_dims(c, 1);
  }
  const bool allow_zero = c.opset() >= 14 && c.attr_int("allowzero", 0) != 0;
  const Facts& facts = c.facts();

  int minus_one = -1;
  bool zero = false, needs_input = false, any_open = false;
  std::vector<bool> open(target.size(), false);
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d].is_const(-1)) {
      if (minus_one >= 0) c.fail(DiagId::bad_attribute, "the target shape has more than one -1");
      minus_one = static_cast<int>(d);
    } else if (target[d].is_const(0)) {
      zero = true;
    } else if (target[d].as_const().value_or(0) < 0) {
      c.fail(DiagId::bad_attribute, "entry {} of the target shape is {}", d, target[d].str());
    } else if (!facts.proves_le(0, target[d])) {
      // A number from a run-time tensor; a formula of dimensions is never -1, and its being 0 means
      // an empty result, not a copied dimension.
      open[d] = any_open = true;
    }
  }
  if (allow_zero && zero && minus_one >= 0) {
    c.fail(DiagId::bad_attribute, "the target shape has both 0 and -1, which allowzero=1 forbids");
  }
  needs_input = minus_one >= 0 || any_open || (zero && !allow_zero);
  if (!needs_input) {
    c.out(0, c.reshape(c.in(0), std::move(target)));
    return;
  }

  const ValueId x = with_known_dims(c, c.in(0));
  const Dims in = *c.build().type(x).dims;
  for (size_t d = 0; d < target.size() && !allow_zero; ++d) {
    if (!target[d].is_const(0)) continue;
    if (d >= in.size()) {
      c.fail(DiagId::bad_attribute,
             "entry {} of the target shape copies a dimension of an input of rank {}", d,
             in.size());
    }
    target[d] = in[d];
  }
  if (any_open) {
    c.out(0, c.reshape(x, resolve_at_run_time(c, in, target, allow_zero, open)));
    return;
  }
  if (minus_one >= 0) {
    Dims others = target;
    others.erase(others.begin() + minus_one);
    target[static_cast<size_t>(minus_one)] = solve_minus_one(c, in, others);
  }
  c.out(0, c.reshape(x, std::move(target)));
}

}  // namespace symtile::onnx_import
