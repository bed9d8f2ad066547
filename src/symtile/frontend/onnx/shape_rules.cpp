// Rules of shape arithmetic for whole tensors; see shape_values.h.
#include "symtile/frontend/onnx/shape_rules.h"

#include <algorithm>
#include <array>

namespace symtile::onnx_import {
namespace shape {
namespace {

Outputs cast(KnownContext& c) {
  const auto x = input(c, 0);
  if (!x) return {};
  if (c.op_type() == "CastLike" && !c.has(1)) return {};
  const DType to = c.op_type() == "CastLike" ? c.type(1).dtype : c.attr_dtype("to", x->dtype);
  KnownTensor out{to, x->dims, {}};
  for (const KnownElement& e : x->elements)
    out.elements.push_back(cast_element(e, x->dtype, to, c.facts()));
  return one(std::move(out));
}

Outputs unary(KnownContext& c, UnaryElementRule rule) {
  const auto x = input(c, 0);
  if (!x) return {};
  KnownTensor out{x->dtype, x->dims, {}};
  for (const KnownElement& e : x->elements) out.elements.push_back(rule(e, x->dtype, c.facts()));
  return one(std::move(out));
}

bool is_comparison(const std::string& op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" ||
         op == "GreaterOrEqual";
}

Outputs binary(KnownContext& c, ElementRule rule) {
  if (c.opset() < 7) return {};  // broadcasting was an attribute
  const bool remainder = c.op_type() == "Mod" && c.attr_int("fmod", 0) != 0;
  auto result = input(c, 0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    const auto b = input(c, i);
    if (!result || !b || b->dtype != result->dtype) return {};
    const auto dims = broadcast(result->dims, b->dims);
    if (!dims) return {};
    const auto left = spread(*result, *dims), right = spread(*b, *dims);
    if (!left || !right) return {};
    KnownTensor next{result->dtype, *dims, {}};
    for (size_t k = 0; k < left->elements.size(); ++k) {
      next.elements.push_back((remainder ? truncated_mod : rule)(
          left->elements[k], right->elements[k], result->dtype, c.facts()));
    }
    if (is_comparison(c.op_type())) next.dtype = DType::boolean;
    result = std::move(next);
  }
  return one(std::move(result));
}

Outputs where(KnownContext& c) {
  const auto condition = input(c, 0), a = input(c, 1), b = input(c, 2);
  if (!condition || !a || !b) return {};
  const auto values = broadcast(a->dims, b->dims);
  const auto dims = values ? broadcast(condition->dims, *values) : std::nullopt;
  if (!dims) return {};
  const auto choice = spread(*condition, *dims), yes = spread(*a, *dims), no = spread(*b, *dims);
  if (!choice || !yes || !no) return {};
  KnownTensor out{a->dtype, *dims, {}};
  for (size_t k = 0; k < choice->elements.size(); ++k) {
    const auto chosen = choice->elements[k].as_const();
    const KnownElement &x = yes->elements[k], &y = no->elements[k];
    const bool same = x.is_known() && y.is_known() && x.denominator == y.denominator &&
                      c.facts().proves_equal(x.value, y.value);
    out.elements.push_back(chosen ? (*chosen != 0 ? x : y) : same ? x : KnownElement::unknown());
  }
  return one(std::move(out));
}

Outputs reduce(KnownContext& c) {
  const auto x = input(c, 0);
  if (!x) return {};
  const int since = c.op_type() == "ReduceSum" ? 13 : 18;
  const bool noop = c.attr_int("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(x->rank(), !noop);
  if (given(c, 1, "axes", since)) {
    const auto axes = numbers(c, 1, "axes", since);
    const auto set = axes ? axis_set(*axes, x->rank()) : std::nullopt;
    if (!set) return {};
    if (!axes->empty()) reduced = *set;
  }
  const std::string_view op = c.op_type();
  const ElementRule rule = find_binary_rule(op == "ReduceProd"  ? "Mul"
                                            : op == "ReduceSum" ? "Add"
                                            : op == "ReduceMax" ? "Max"
                                                                : "Min");
  const bool has_empty = op == "ReduceProd" || op == "ReduceSum";
  if (x->elements.empty() && !has_empty) return {};
  const bool keep = c.attr_int("keepdims", 1) != 0;
  KnownTensor out{x->dtype, {}, {}};
  Shape full;  // with extent 1 for the reduced axes
  for (size_t d = 0; d < x->rank(); ++d) {
    full.push_back(reduced[d] ? 1 : x->dims[d]);
    if (keep || !reduced[d]) out.dims.push_back(full.back());
  }
  std::vector<std::optional<KnownElement>> totals(static_cast<size_t>(count_of(full)));
  Shape index(x->rank(), 0);
  for (const KnownElement& e : x->elements) {
    int64_t at = 0;
    for (size_t d = 0; d < x->rank(); ++d) at = at * full[d] + (reduced[d] ? 0 : index[d]);
    auto& total = totals[static_cast<size_t>(at)];
    total = total ? rule(*total, e, x->dtype, c.facts()) : e;
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < x->dims[d]) break;
      index[d] = 0;
    }
  }
  for (const auto& total : totals)
    out.elements.push_back(total.value_or(KnownElement{op == "ReduceProd" ? 1 : 0}));
  return one(std::move(out));
}

Outputs constant_of_shape(KnownContext& c) {
  const KnownTensor* shape = c.known(0);
  const auto dims = shape && shape->rank() == 1 ? shape->numbers() : std::nullopt;
  if (!dims) return {};
  KnownTensor value{DType::f32, {}, {KnownElement{0}}};
  if (const Constant data = c.attr_tensor("value")) {
    if (data->element_count() != 1) return {};
    const auto known = known_from_constant(*data);
    if (!known) return {};
    value = {known->dtype, {}, known->elements};
  }
  return one(picked(value, *dims, [](const Shape&) { return Shape{}; }));
}

Outputs range(KnownContext& c) {
  const auto start = input(c, 0), limit = input(c, 1), delta = input(c, 2);
  if (!start || !limit || !delta || start->elements.size() != 1 || limit->elements.size() != 1 ||
      delta->elements.size() != 1 || is_float(start->dtype)) {
    return {};
  }
  const KnownElement &from = start->elements[0], &to = limit->elements[0];
  const auto step = delta->elements[0].as_const();
  if (!from.is_known() || !to.is_known() || !step || *step == 0) return {};
  const DimExpr span = c.facts().simplify(to.value - from.value);
  const auto count =
      max(ceildiv(*step > 0 ? span : -span, *step > 0 ? *step : -*step), 0).as_const();
  if (!count || *count > static_cast<int64_t>(kMaxKnownElements)) return {};
  std::vector<KnownElement> elements;
  for (int64_t i = 0; i < *count; ++i) {
    elements.push_back(representable({from.value + DimExpr(i) * DimExpr(*step)}, start->dtype));
  }
  return one(KnownTensor::vector(start->dtype, std::move(elements)));
}

struct TensorRule {
  std::string_view name;
  Outputs (*rule)(KnownContext&);
};

constexpr auto kRules = std::to_array<TensorRule>({
    {"Cast", cast},           {"CastLike", cast},
    {"Concat", concat},       {"ConstantOfShape", constant_of_shape},
    {"Expand", expand},       {"Gather", gather},
    {"Range", range},         {"ReduceMax", reduce},
    {"ReduceMin", reduce},    {"ReduceProd", reduce},
    {"ReduceSum", reduce},    {"Reshape", reshape},
    {"Slice", slice},         {"Split", split},
    {"Squeeze", squeeze},     {"Tile", tile},
    {"Transpose", transpose}, {"Unsqueeze", unsqueeze},
    {"Where", where},
});

Outputs apply(KnownContext& c) {
  const std::string_view op = c.op_type();
  if (const ElementRule rule = find_binary_rule(op)) return binary(c, rule);
  if (const UnaryElementRule rule = find_unary_rule(op)) return unary(c, rule);
  for (const TensorRule& r : kRules) {
    if (r.name == op) return r.rule(c);
  }
  return {};
}

}  // namespace
}  // namespace shape

KnownOutputs evaluate_shape_rule(KnownContext& c) {
  try {
    KnownOutputs out = shape::apply(c);
    const bool useful =
        std::any_of(out.begin(), out.end(), [](const KnownTensor& t) { return t.any_known(); });
    return useful ? out : KnownOutputs{};
  } catch (const DiagnosticError& e) {
    // Integer elements wrap where formulas overflow: leave such numbers to the tensors.
    if (e.id() == DiagId::dimension_overflow) return {};
    throw;
  }
}

}  // namespace symtile::onnx_import
