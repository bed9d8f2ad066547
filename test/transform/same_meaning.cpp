#include "same_meaning.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "symtile/base/check.h"
#include "symtile/interp/interpreter.h"

namespace symtile::test {
namespace {

constexpr double kTolerance = 2e-5;
constexpr int64_t kMaxElements = 1 << 14;

/// The inputs at the shape where the symbols have these values; nullopt when that is no input of
/// the module.
std::optional<std::vector<RefTensor>> inputs_of(const GraphFunction& main,
                                                const DimValues& symbols) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> reals(-2, 2);
  std::uniform_int_distribution<int64_t> whole(0, 3);
  std::vector<RefTensor> out;
  for (const ValueId p : main.params) {
    const Type& type = main.type(p);
    if (!type.is_tensor() || !type.fully_known()) return std::nullopt;
    std::vector<int64_t> dims;
    int64_t count = 1;
    for (const DimExpr& d : *type.dims) {
      dims.push_back(d.evaluate(symbols));
      if (dims.back() < 0) return std::nullopt;
      count *= dims.back();
      if (count > kMaxElements) return std::nullopt;
    }
    RefTensor t(type.dtype, dims);
    for (int64_t i = 0; i < t.size(); ++i) {
      if (t.is_float_kind()) {
        t.set(i, reals(random));
      } else {
        t.set_int(i, type.dtype == DType::boolean ? whole(random) % 2 : whole(random));
      }
    }
    out.push_back(RefTensor::from_constant(*t.to_constant()));
  }
  return out;
}

void compare(const std::vector<RefTensor>& expected, const std::vector<RefTensor>& actual,
             const std::string& at) {
  if (expected.size() != actual.size()) throw UserError("another number of results" + at);
  for (size_t k = 0; k < expected.size(); ++k) {
    const RefTensor &x = expected[k], &y = actual[k];
    if (x.dims != y.dims || x.dtype != y.dtype)
      throw UserError(fmt::format("result {} has another type{}", k, at));
    double scale = 1;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x.as_double(i))) scale = std::max(scale, std::abs(x.as_double(i)));
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      const double a = x.as_double(i), b = y.as_double(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (!(std::abs(a - b) <= kTolerance * scale))
        throw UserError(fmt::format("element {} of result {} is {}, not {}{}", i, k, b, a, at));
    }
  }
}

bool holds(const Facts& facts, const DimValues& symbols) {
  for (const auto& [name, range] : facts.ranges()) {
    const auto it = symbols.find(name);
    if (it == symbols.end()) continue;
    if ((range.low && it->second < *range.low) || (range.high && it->second > *range.high))
      return false;
  }
  return true;
}

}  // namespace

int check_same_meaning(const Module& before, const Module& after) {
  if (!before.has(Module::kMain)) return 0;
  const GraphFunction& main = before.graph(Module::kMain);
  // Of constants alone: folding rounds every step, the interpreter none.
  if (main.params.empty()) return 0;
  const std::set<std::string> names = main.entry_symbols();
  int runs = 0;
  for (const std::vector<int64_t>& values :
       std::vector<std::vector<int64_t>>{{2, 3}, {3, 4, 2}, {1}, {0, 2}, {24}}) {
    DimValues symbols;
    size_t next = 0;
    for (const std::string& s : names) symbols[s] = values[next++ % values.size()];
    if (!holds(main.facts, symbols)) continue;
    std::optional<std::vector<RefTensor>> inputs;
    std::vector<RefTensor> expected;
    try {
      inputs = inputs_of(main, symbols);
      if (!inputs) continue;
      expected = Interpreter(before).run(*inputs);
    } catch (const UserError&) {
      continue;  // not an input of this module
    }
    std::string at = " where";
    for (const auto& [name, value] : symbols) at += fmt::format(" {}={}", name, value);
    compare(expected, Interpreter(after).run(*inputs), at);
    ++runs;
  }
  return runs;
}

}  // namespace symtile::test
