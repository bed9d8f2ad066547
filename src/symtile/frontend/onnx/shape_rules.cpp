// Rules of shape arithmetic for whole tensors of rank 0 and 1; see shape_values.h.
#include <algorithm>
#include <array>

#include "symtile/frontend/onnx/shape_values.h"

namespace symtile::onnx_import {
namespace {

using Outputs = KnownOutputs;

/// Input i with "?" elements where only the number of elements is known; nullopt otherwise.
std::optional<KnownTensor> input(KnownContext& c, int i) {
  if (!c.has(i)) return std::nullopt;
  if (const KnownTensor* k = c.known(i)) return *k;
  const Type& t = c.type(i);
  if (!t.is_tensor() || !t.has_rank() || t.rank() > 1) return std::nullopt;
  const auto count = t.rank() == 0 ? std::optional<int64_t>(1) : (*t.dims)[0].as_const();
  if (!count || *count > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
  return KnownTensor{
      t.dtype, t.rank() == 0,
      std::vector<KnownElement>(static_cast<size_t>(*count), KnownElement::unknown())};
}

/// Whole constants of input i or, before operator set `since`, of the attribute.
std::optional<std::vector<int64_t>> numbers(KnownContext& c, int i, const char* attr, int since) {
  if (c.opset() < since) {
    if (!c.has_attr(attr)) return std::nullopt;
    return c.attr_ints(attr, {});
  }
  const KnownTensor* k = c.has(i) ? c.known(i) : nullptr;
  return k ? k->numbers() : std::nullopt;
}

/// The axes are absent (when that means all of them) or name the only axis of a vector.
bool axes_are_zero(const std::optional<std::vector<int64_t>>& axes) {
  return axes && axes->size() == 1 && ((*axes)[0] == 0 || (*axes)[0] == -1);
}

Outputs one(KnownTensor t) {
  Outputs out;
  out.push_back(std::move(t));
  return out;
}

Outputs cast(KnownContext& c) {
  const auto x = input(c, 0);
  if (!x) return {};
  if (c.op_type() == "CastLike" && !c.has(1)) return {};
  const DType to = c.op_type() == "CastLike" ? c.type(1).dtype : c.attr_dtype("to", x->dtype);
  KnownTensor out{to, x->scalar, {}};
  for (const KnownElement& e : x->elements)
    out.elements.push_back(cast_element(e, x->dtype, to, c.facts()));
  return one(std::move(out));
}

Outputs unary(KnownContext& c, UnaryElementRule rule) {
  const auto x = input(c, 0);
  if (!x) return {};
  KnownTensor out{x->dtype, x->scalar, {}};
  for (const KnownElement& e : x->elements) out.elements.push_back(rule(e, x->dtype, c.facts()));
  return one(std::move(out));
}

bool is_comparison(const std::string& op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" ||
         op == "GreaterOrEqual";
}

/// Numpy broadcasting of the element counts; nullopt when they do not fit.
std::optional<size_t> broadcast(const KnownTensor& a, const KnownTensor& b) {
  const size_t n = a.elements.size(), m = b.elements.size();
  if (n == m || m == 1) return n;
  return n == 1 ? std::optional(m) : std::nullopt;
}

const KnownElement& at(const KnownTensor& t, size_t i) {
  return t.elements[t.elements.size() == 1 ? 0 : i];
}

Outputs binary(KnownContext& c, ElementRule rule) {
  if (c.opset() < 7) return {};  // broadcasting was an attribute
  const bool remainder = c.op_type() == "Mod" && c.attr_int("fmod", 0) != 0;
  auto result = input(c, 0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    const auto b = input(c, i);
    if (!result || !b || b->dtype != result->dtype) return {};
    const auto count = broadcast(*result, *b);
    if (!count) return {};
    KnownTensor next{result->dtype, result->scalar && b->scalar, {}};
    for (size_t k = 0; k < *count; ++k) {
      next.elements.push_back(
          (remainder ? truncated_mod : rule)(at(*result, k), at(*b, k), result->dtype, c.facts()));
    }
    if (is_comparison(c.op_type())) next.dtype = DType::boolean;
    result = std::move(next);
  }
  return result ? one(std::move(*result)) : Outputs{};
}

Outputs where(KnownContext& c) {
  const auto condition = input(c, 0), a = input(c, 1), b = input(c, 2);
  if (!condition || !a || !b) return {};
  const auto values = broadcast(*a, *b);
  if (!values) return {};
  KnownTensor out{a->dtype, condition->scalar && a->scalar && b->scalar, {}};
  const size_t n = condition->elements.size();
  if (n != *values && n != 1 && *values != 1) return {};
  for (size_t k = 0; k < (n == 1 ? *values : n); ++k) {
    const auto yes = at(*condition, k).as_const();
    const KnownElement &x = at(*a, k), &y = at(*b, k);
    const bool same = x.is_known() && y.is_known() && x.denominator == y.denominator &&
                      c.facts().proves_equal(x.value, y.value);
    out.elements.push_back(yes ? (*yes != 0 ? x : y) : same ? x : KnownElement::unknown());
  }
  return one(std::move(out));
}

Outputs gather(KnownContext& c) {
  const auto x = input(c, 0);
  const KnownTensor* indices = c.known(1);
  if (!x || x->scalar || !indices) return {};
  const auto list = indices->numbers();
  if (!list) return {};
  KnownTensor out{x->dtype, indices->scalar, {}};
  const auto n = static_cast<int64_t>(x->elements.size());
  for (const int64_t i : *list) {
    if (i < -n || i >= n) return {};
    out.elements.push_back(x->elements[static_cast<size_t>(i < 0 ? i + n : i)]);
  }
  return one(std::move(out));
}

Outputs slice(KnownContext& c) {
  const auto x = input(c, 0);
  const auto starts = numbers(c, 1, "starts", 10), ends = numbers(c, 2, "ends", 10);
  if (!x || x->scalar || !starts || !ends || starts->size() != 1 || ends->size() != 1) return {};
  const bool has_axes = c.opset() < 10 ? c.has_attr("axes") : c.has(3);
  if (has_axes && !axes_are_zero(numbers(c, 3, "axes", 10))) return {};
  int64_t step = 1;
  if (c.opset() >= 10 && c.has(4)) {
    const auto steps = numbers(c, 4, "steps", 10);
    if (!steps || steps->size() != 1 || (*steps)[0] == 0) return {};
    step = (*steps)[0];
  }
  const auto n = static_cast<int64_t>(x->elements.size());
  const auto bound = [&](int64_t at) {
    if (at < 0) at = at < -n ? -1 : at + n;
    return step > 0 ? std::clamp<int64_t>(at, 0, n) : std::clamp<int64_t>(at, -1, n - 1);
  };
  KnownTensor out{x->dtype, false, {}};
  const int64_t end = bound((*ends)[0]);
  for (int64_t i = bound((*starts)[0]); step > 0 ? i < end : i > end;) {
    out.elements.push_back(x->elements[static_cast<size_t>(i)]);
    if (step > n || step < -n) break;
    i += step;
  }
  return one(std::move(out));
}

Outputs concat(KnownContext& c) {
  if (c.attr_int("axis", 1) != 0 && c.attr_int("axis", 1) != -1) return {};
  KnownTensor out{DType::i64, false, {}};
  for (int i = 0; i < c.num_inputs(); ++i) {
    const auto x = input(c, i);
    if (!x || x->scalar || (i > 0 && x->dtype != out.dtype)) return {};
    out.dtype = x->dtype;
    out.elements.insert(out.elements.end(), x->elements.begin(), x->elements.end());
    if (out.elements.size() > kMaxKnownElements) return {};
  }
  return one(std::move(out));
}

Outputs split(KnownContext& c) {
  const auto x = input(c, 0);
  if (!x || x->scalar || c.num_outputs() == 0) return {};
  const int64_t axis = c.attr_int("axis", 0);
  if (axis != 0 && axis != -1) return {};
  const auto n = static_cast<int64_t>(x->elements.size());
  std::vector<int64_t> sizes;
  if (c.opset() < 13 ? c.has_attr("split") : c.has(1)) {
    const auto list = numbers(c, 1, "split", 13);
    if (!list) return {};
    sizes = *list;
  } else {
    if (n % c.num_outputs() != 0) return {};
    sizes.assign(static_cast<size_t>(c.num_outputs()), n / c.num_outputs());
  }
  Outputs out;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > n - begin) return {};
    out.push_back(
        {x->dtype, false, {x->elements.begin() + begin, x->elements.begin() + begin + size}});
    begin += size;
  }
  return begin == n && out.size() == static_cast<size_t>(c.num_outputs()) ? out : Outputs{};
}

Outputs squeeze(KnownContext& c) {
  auto x = input(c, 0);
  if (!x || x->scalar || x->elements.size() != 1) return {};
  const bool has_axes = c.opset() < 13 ? c.has_attr("axes") : c.has(1);
  if (has_axes && !axes_are_zero(numbers(c, 1, "axes", 13))) return {};
  x->scalar = true;
  return one(std::move(*x));
}

Outputs unsqueeze(KnownContext& c) {
  auto x = input(c, 0);
  if (!x || !x->scalar || !axes_are_zero(numbers(c, 1, "axes", 13))) return {};
  x->scalar = false;
  return one(std::move(*x));
}

Outputs reshape(KnownContext& c) {
  auto x = input(c, 0);
  if (!x) return {};
  const auto target = numbers(c, 1, "shape", 5);
  if (!target || target->size() > 1) return {};
  if (target->empty() && x->elements.size() != 1) return {};
  const auto n = static_cast<int64_t>(x->elements.size());
  if (!target->empty()) {
    const int64_t t = (*target)[0];
    if (t != n && t != -1 && !(t == 0 && !x->scalar && c.attr_int("allowzero", 0) == 0)) return {};
  }
  x->scalar = target->empty();
  return one(std::move(*x));
}

Outputs same(KnownContext& c) {
  auto x = input(c, 0);
  return x ? one(std::move(*x)) : Outputs{};
}

Outputs reduce(KnownContext& c) {
  auto x = input(c, 0);
  if (!x) return {};
  const int since = c.op_type() == "ReduceSum" ? 13 : 18;
  const bool has_axes = c.opset() < since ? c.has_attr("axes") : c.has(1);
  if (has_axes) {
    const auto axes = numbers(c, 1, "axes", since);
    if (!axes) return {};
    if (axes->empty() ? c.attr_int("noop_with_empty_axes", 0) != 0 : !axes_are_zero(axes))
      return {};
  } else if (c.attr_int("noop_with_empty_axes", 0) != 0) {
    return {};
  }
  if (x->scalar) return one(std::move(*x));
  const std::string_view op = c.op_type();
  const ElementRule rule = find_binary_rule(op == "ReduceProd"  ? "Mul"
                                            : op == "ReduceSum" ? "Add"
                                            : op == "ReduceMax" ? "Max"
                                                                : "Min");
  KnownElement total{op == "ReduceProd" ? 1 : 0};
  if (x->elements.empty() && op != "ReduceProd" && op != "ReduceSum") return {};
  for (size_t i = 0; i < x->elements.size(); ++i) {
    total = i == 0 ? x->elements[0] : rule(total, x->elements[i], x->dtype, c.facts());
  }
  return one({x->dtype, c.attr_int("keepdims", 1) == 0, {total}});
}

Outputs expand(KnownContext& c) {
  const auto x = input(c, 0);
  const KnownTensor* shape = c.known(1);
  const auto target = shape ? shape->numbers() : std::nullopt;
  if (!x || !target || target->size() > 1) return {};
  if (target->empty()) return one(*x);
  const auto n = static_cast<int64_t>(x->elements.size());
  const int64_t m = (*target)[0];
  if (m < 0 || m > static_cast<int64_t>(kMaxKnownElements) || (n != 1 && m != 1 && m != n))
    return {};
  KnownTensor out{x->dtype, false, x->elements};
  if (n == 1) out.elements.assign(static_cast<size_t>(m), x->elements[0]);
  return one(std::move(out));
}

Outputs tile(KnownContext& c) {
  const auto x = input(c, 0);
  const KnownTensor* repeats = c.known(1);
  const auto times = repeats ? repeats->numbers() : std::nullopt;
  if (c.opset() < 6 || !x || x->scalar || !times || times->size() != 1) return {};
  if ((*times)[0] < 0 || (*times)[0] > static_cast<int64_t>(kMaxKnownElements)) return {};
  KnownTensor out{x->dtype, false, {}};
  for (int64_t i = 0; i < (*times)[0]; ++i) {
    out.elements.insert(out.elements.end(), x->elements.begin(), x->elements.end());
    if (out.elements.size() > kMaxKnownElements) return {};
  }
  return one(std::move(out));
}

Outputs constant_of_shape(KnownContext& c) {
  const KnownTensor* shape = c.known(0);
  const auto dims = shape && !shape->scalar ? shape->numbers() : std::nullopt;
  if (!dims || dims->size() > 1) return {};
  const int64_t count = dims->empty() ? 1 : (*dims)[0];
  if (count < 0 || count > static_cast<int64_t>(kMaxKnownElements)) return {};
  KnownTensor out{DType::f32, dims->empty(), {}};
  KnownElement value{0};
  if (const Constant data = c.attr_tensor("value")) {
    if (data->element_count() != 1) return {};
    ConstantData scalar = *data;
    scalar.dims.clear();
    const auto known = known_from_constant(scalar);
    if (!known) return {};
    out.dtype = known->dtype;
    value = known->elements[0];
  }
  out.elements.assign(static_cast<size_t>(count), value);
  return one(std::move(out));
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
  KnownTensor out{start->dtype, false, {}};
  for (int64_t i = 0; i < *count; ++i) {
    out.elements.push_back(representable({from.value + DimExpr(i) * DimExpr(*step)}, out.dtype));
  }
  return one(std::move(out));
}

struct TensorRule {
  std::string_view name;
  Outputs (*rule)(KnownContext&);
};

constexpr auto kRules = std::to_array<TensorRule>({
    {"Cast", cast},        {"CastLike", cast},
    {"Concat", concat},    {"ConstantOfShape", constant_of_shape},
    {"Expand", expand},    {"Gather", gather},
    {"Range", range},      {"ReduceMax", reduce},
    {"ReduceMin", reduce}, {"ReduceProd", reduce},
    {"ReduceSum", reduce}, {"Reshape", reshape},
    {"Slice", slice},      {"Split", split},
    {"Squeeze", squeeze},  {"Tile", tile},
    {"Transpose", same},   {"Unsqueeze", unsqueeze},
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

KnownOutputs evaluate_shape_rule(KnownContext& c) {
  try {
    KnownOutputs out = apply(c);
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
