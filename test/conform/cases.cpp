#include "cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/builder.h"

namespace symtile::test {
namespace {

/// More elements than this make the double-precision interpreter too slow for a test.
constexpr int64_t kMaxElements = 40000;

Case make_case(const OpRecord& op, int number, OpSample sample) {
  Case c;
  c.op = &op;
  c.number = number;
  c.sample = std::move(sample);
  c.call = {op.name, {}, c.sample.attrs};
  for (size_t i = 0; i < c.sample.input_types.size(); ++i) {
    const bool present = c.sample.input_types[i].is_tensor();
    c.call.args.push_back(ValueId{present ? static_cast<int32_t>(i) : -1});
  }
  c.constants.resize(c.sample.input_types.size());
  for (const auto& [i, data] : c.sample.constants) c.constants.at(static_cast<size_t>(i)) = data;
  c.results = deduce_call(c.call, c.sample.input_types, c.constants, c.facts, nullptr, &c.checks);
  for (const DimCheck& check : c.checks) c.facts.assume_equal(check.a, check.b);
  for (Type& t : c.results) {
    if (!t.dims) continue;
    for (DimExpr& d : *t.dims) {
      if (!d.is_unknown()) d = c.facts.simplify(d);
    }
  }
  return c;
}

double special_real(int which) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                           kInfinity,
                           -kInfinity,
                           0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           2.5};
  return values[which];
}

int64_t special_whole(DType t, int which) {
  const int64_t low = cast_float_to_int(t, -std::numeric_limits<double>::infinity());
  const int64_t high = cast_float_to_int(t, std::numeric_limits<double>::infinity());
  const int64_t values[] = {low, high, 0, 1, -1, low + 1, high - 1, 2, high / 2};
  return values[which];
}

RefTensor random_tensor(const Case& c, const Type& type, const Variation& variation,
                        std::mt19937& random) {
  RefTensor t(type.dtype, extents_of(*type.dims, variation.symbols));
  std::uniform_real_distribution<double> reals(c.sample.low, c.sample.high);
  std::uniform_int_distribution<int64_t> whole(static_cast<int64_t>(c.sample.low),
                                               static_cast<int64_t>(c.sample.high));
  std::uniform_int_distribution<int> one_in_four(0, 3), which(0, 8);
  for (int64_t i = 0; i < t.size(); ++i) {
    const bool special = variation.special && one_in_four(random) == 0;
    if (t.is_float_kind()) {
      t.set(i, special ? special_real(which(random)) : reals(random));
    } else {
      t.set_int(i, special ? special_whole(t.dtype, which(random)) : whole(random));
    }
  }
  return RefTensor::from_constant(*t.to_constant());
}

/// Padding and corners of weight 0 may take part or not: that shows when an infinity meets them.
bool mixes_zero_coefficients(std::string_view op) {
  return op == "conv" || op == "conv_transpose" || op == "grid_sample" || op == "resize";
}

/// Extents at which the sample makes no sense, or is too large, are not allowed.
bool allowed(const Case& c, const DimValues& symbols) {
  for (const DimCheck& check : c.checks) {
    if (check.a.evaluate(symbols) != check.b.evaluate(symbols)) return false;
  }
  int64_t elements = 0;
  const auto count = [&](const Type& type) {
    if (!type.is_tensor() || !type.dims) return true;
    int64_t n = 1;
    for (const DimExpr& d : *type.dims) {
      const int64_t extent = d.is_unknown() ? 1 : d.evaluate(symbols);
      if (extent < 0) return false;
      n *= extent;
      if (n > kMaxElements) return false;
    }
    elements += n;
    return elements <= kMaxElements;
  };
  for (size_t i = 0; i < c.sample.input_types.size(); ++i) {
    if (!count(c.sample.input_types[i])) return false;
    const Constant fixed = c.constants[i];
    if (fixed && fixed->dims != extents_of(*c.sample.input_types[i].dims, symbols)) return false;
  }
  return std::all_of(c.results.begin(), c.results.end(), count);
}

double number_at(const RefTensor& t, int64_t i) { return t.as_double(i); }

}  // namespace

std::string Case::name() const { return fmt::format("{}#{}", op->name, number); }

std::vector<Case> all_cases(const std::string& only) {
  std::vector<Case> out;
  for (const OpRecord* op : all_ops()) {
    if (!only.empty() && only != op->name) continue;
    int number = 0;
    for (OpSample& sample : op->samples())
      out.push_back(make_case(*op, number++, std::move(sample)));
  }
  return out;
}

std::vector<Variation> variations_of(const Case& c) {
  std::vector<Variation> out{{c.sample.symbols, false}};
  const auto add = [&](const std::vector<int64_t>& values) {
    Variation v;
    size_t i = 0;
    for (const auto& [name, value] : c.sample.symbols)
      v.symbols[name] = values[i++ % values.size()];
    if (std::find(out.begin(), out.end(), v) == out.end()) out.push_back(std::move(v));
  };
  for (const int64_t n : {0, 1, 3, 17, 65, 300}) add({n});
  add({1, 37, 5});
  add({67, 1, 2});
  add({2, 4, 131});
  add({5, 0, 7});
  // Beyond one block of the contraction template in each of its loops.
  add({2, 7, 271, 5});
  add({1, 530, 13, 34});
  add({1, 5, 3, 270});
  if (!mixes_zero_coefficients(c.op->name)) out.push_back({c.sample.symbols, true});
  return out;
}

std::string Variation::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : symbols) parts.push_back(fmt::format("{}={}", name, value));
  if (special) parts.emplace_back("special values");
  return fmt::format("[{}]", fmt::join(parts, " "));
}

std::vector<int64_t> extents_of(const Dims& dims, const DimValues& symbols) {
  std::vector<int64_t> out;
  for (const DimExpr& d : dims) out.push_back(d.evaluate(symbols));
  return out;
}

std::optional<Reference> evaluate(const Case& c, const Variation& variation) {
  const DimValues& symbols = variation.symbols;
  if (!allowed(c, symbols)) return std::nullopt;
  std::mt19937 random(7);
  Reference out;
  for (size_t i = 0; i < c.call.args.size(); ++i) {
    if (c.constants[i]) {
      out.inputs.push_back(RefTensor::from_constant(*c.constants[i]));
    } else if (c.call.args[i].valid()) {
      out.inputs.push_back(random_tensor(c, c.sample.input_types[i], variation, random));
    } else {
      out.inputs.emplace_back();
    }
  }
  EvalContext context(c.call, symbols);
  for (size_t i = 0; i < c.call.args.size(); ++i) {
    context.inputs.push_back(c.call.args[i].valid() ? &out.inputs[i] : nullptr);
  }
  context.num_results = static_cast<int>(c.results.size());
  try {
    c.op->evaluate(context);
  } catch (const UserError&) {
    return std::nullopt;  // an index out of range, say
  }
  out.outputs = std::move(context.outputs);
  return out;
}

std::string difference(const RefTensor& expected, const RefTensor& actual, double tolerance) {
  if (expected.dtype != actual.dtype) {
    return fmt::format("dtype {}, not {}", name_of(actual.dtype), name_of(expected.dtype));
  }
  if (expected.dims != actual.dims) {
    return fmt::format("shape ({}), not ({})", fmt::join(actual.dims, ", "),
                       fmt::join(expected.dims, ", "));
  }
  double scale = 1;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double x = std::abs(number_at(expected, i));
    if (std::isfinite(x)) scale = std::max(scale, x);
  }
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double x = number_at(expected, i), y = number_at(actual, i);
    bool same = x == y || (std::isnan(x) && std::isnan(y));
    if (!same && expected.is_float_kind()) same = std::abs(x - y) <= tolerance * scale;
    // Integers are exact, unless the sample says how many steps they may be off.
    if (!same && !expected.is_float_kind() && tolerance >= 1) same = std::abs(x - y) <= tolerance;
    if (same) continue;
    ++wrong;
    if (first < 0) first = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ; element {} is {}, not {}", wrong, expected.size(),
                     first, number_at(actual, first), number_at(expected, first));
}

}  // namespace symtile::test
