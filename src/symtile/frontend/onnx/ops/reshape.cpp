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

/// A target with entries that may turn out to be 0 or -1 at run time, as one formula an axis.
Dims resolve_at_run_time(ImportContext& c, const Dims& in, const Dims& target, bool allow_zero,
                         const std::vector<bool>& open) {
  const Facts& facts = c.facts();
  Dims base = target, negative(target.size(), 0);
  DimExpr count = 1, inferred = 0;
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d].is_const(-1)) {
      negative[d] = 1;
    } else if (open[d]) {
      c.build().check(max(-1 - target[d], 0), 0,
                      fmt::format("entry {} of the target shape is at least -1", d));
      negative[d] = is_positive(-target[d]);
      if (!allow_zero && d < in.size())
        base[d] += (1 - is_positive(target[d]) - negative[d]) * in[d];
    }
    // An entry of -1 counts as 1 in the product of the others.
    base[d] += negative[d];
    count *= base[d] + negative[d];
    inferred += negative[d];
  }
  c.build().check(max(inferred, 1), 1, "the target shape has at most one -1");
  const DimExpr rest = floordiv(product(in), max(count, 1));
  for (size_t d = 0; d < base.size(); ++d) base[d] = facts.simplify(base[d] + negative[d] * rest);
  return base;
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
    std::vector<bool> name = open;
    if (minus_one >= 0) name[static_cast<size_t>(minus_one)] = true;
    const Dims shape = resolve_at_run_time(c, in, target, allow_zero, open);
    c.out(0, name_dims(c, c.reshape(x, shape), name, "r"));
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
