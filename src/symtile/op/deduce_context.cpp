// Helpers of the deduction rules: what must agree, and numpy broadcasting of dimension formulas.
#include "symtile/op/op.h"

namespace symtile {

namespace {

/// The side to keep of two dimensions known (or checked) to be equal: a number says most.
const DimExpr& more_precise(const DimExpr& a, const DimExpr& b) {
  if (a.is_unknown()) return b;
  if (b.is_unknown() || a.is_const()) return a;
  return b.is_const() ? b : a;
}

bool at_least_two(const Facts& facts, const DimExpr& d) {
  return !d.is_unknown() && facts.proves_le(2, d);
}

/// True when the extent can be neither 1 nor broadcast: 0, or at least 2.
bool never_one(const Facts& facts, const DimExpr& d) {
  return !d.is_unknown() && facts.proves_not_equal(d, 1);
}

using Operands = std::set<DimExpr>;

void flatten(DimAtom::Kind kind, const DimExpr& d, Operands& out) {
  const auto& terms = d.terms();
  const bool single = terms.size() == 1 && terms[0].coefficient == 1 &&
                      terms[0].factors.size() == 1 && terms[0].factors[0].second == 1;
  if (!single || terms[0].factors[0].first.kind != kind) {
    out.insert(d);
    return;
  }
  for (const DimExpr& arg : terms[0].factors[0].first.args) flatten(kind, arg, out);
}

/// What broadcasting dimensions together gives when any may be 0, 1 or more: 0 if one is 0 (the
/// others are 0 or 1 then), else the largest.
DimExpr broadcast_of(const Operands& all) {
  DimExpr least = 1, most = *all.begin();
  for (const DimExpr& d : all) {
    least = min(least, d);
    most = max(most, d);
  }
  return least * most;
}

/// The operands of a formula that broadcast_of made; the dimension itself otherwise. So a chain of
/// broadcasts is one formula over all operands, not one inside the other.
Operands broadcast_operands(const DimExpr& d) {
  const auto& terms = d.terms();
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 2) {
    for (const auto& [atom, power] : terms[0].factors) {
      if (atom.kind != DimAtom::Kind::max || power != 1) continue;
      Operands all;
      for (const DimExpr& arg : atom.args) flatten(DimAtom::Kind::max, arg, all);
      if (broadcast_of(all) == d) return all;
    }
  }
  return {d};
}

DimExpr broadcast_one(DeduceContext& c, const DimExpr& a, const DimExpr& b) {
  if (a.is_const(1)) return b;
  if (b.is_const(1)) return a;
  const Facts& facts = c.facts();
  if (a.is_unknown() || b.is_unknown()) {
    // Whatever the unknown one turns out to be, an extent other than 1 wins.
    const DimExpr& known = a.is_unknown() ? b : a;
    return never_one(facts, known) ? known : DimExpr::unknown();
  }
  if (facts.proves_equal(a, b)) return more_precise(a, b);
  if (facts.proves_equal(a, 1)) return b;
  if (facts.proves_equal(b, 1)) return a;
  const bool a_fixed = never_one(facts, a), b_fixed = never_one(facts, b);
  if (a_fixed && b_fixed) return c.require_equal(a, b, "a broadcast dimension");
  const std::string message =
      fmt::format("operator '{}': dimensions {} and {} neither agree nor is one of them 1", c.op(),
                  a.str(), b.str());
  if (a_fixed) {
    c.checks.push_back({(b - a) * (b - 1), 0, message});
    return a;
  }
  if (b_fixed) {
    c.checks.push_back({(a - b) * (a - 1), 0, message});
    return b;
  }
  Operands all = broadcast_operands(a);
  const Operands more = broadcast_operands(b);
  const size_t before = all.size();
  all.insert(more.begin(), more.end());
  if (all.size() == before) return a;  // what agrees with a already
  if (all.size() == more.size()) return b;
  c.checks.push_back({(a - b) * (a - 1) * (b - 1), 0, message});
  if (at_least_two(facts, a + 1) && at_least_two(facts, b + 1)) return max(a, b);  // neither is 0
  return broadcast_of(all);
}

}  // namespace

DimExpr DeduceContext::require_equal(const DimExpr& a, const DimExpr& b, const std::string& what) {
  if (a.is_unknown() || b.is_unknown()) return more_precise(a, b);
  if (facts_.proves_equal(a, b)) return more_precise(a, b);
  if (facts_.proves_not_equal(a, b)) {
    fail(DiagId::shape_mismatch, "{} is {}, but it must be {}", what, a.str(), b.str());
  }
  checks.push_back({a, b,
                    fmt::format("operator '{}': {} is {}, but it must be {}", call_.op, what,
                                a.str(), b.str())});
  return more_precise(a, b);
}

void DeduceContext::require_same_dtype(int i, int j) const {
  if (dtype(i) == dtype(j)) return;
  fail(DiagId::type_mismatch, "operands {} and {} must have one element type, but are {} and {}", i,
       j, name_of(dtype(i)), name_of(dtype(j)));
}

void DeduceContext::require_dtype(int i, bool (*ok)(DType), const char* expected) const {
  if (!arg(i).is_tensor()) {
    fail(DiagId::type_mismatch, "operand {} must be a tensor, but is {}", i, arg(i).str());
  }
  if (ok(dtype(i))) return;
  fail(DiagId::type_mismatch, "operand {} must have {}, but is {}", i, expected, name_of(dtype(i)));
}

void DeduceContext::require_rank(int i, int low, int high) const {
  if (!rank_known(i) || (rank(i) >= low && rank(i) <= high)) return;
  const std::string expected = low == high    ? fmt::format("{}", low)
                               : high >= 1000 ? fmt::format("at least {}", low)
                                              : fmt::format("{} to {}", low, high);
  fail(DiagId::type_mismatch, "operand {} must have rank {}, but is {}", i, expected, arg(i).str());
}

int DeduceContext::normalize_axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    fail(DiagId::bad_attribute, "axis {} is out of range for rank {}", axis, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> DeduceContext::normalize_axes(const std::vector<int64_t>& axes, int rank) const {
  std::vector<int> out;
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t a : axes) {
    const int axis = normalize_axis(a, rank);
    if (seen[static_cast<size_t>(axis)]) {
      fail(DiagId::bad_attribute, "axis {} is given twice", a);
    }
    seen[static_cast<size_t>(axis)] = true;
    out.push_back(axis);
  }
  return out;
}

Dims broadcast_dims(DeduceContext& c, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t k = 0; k < shorter.size(); ++k) {
    out[shift + k] = broadcast_one(c, longer[shift + k], shorter[k]);
  }
  return out;
}

std::optional<Dims> broadcast_args(DeduceContext& c) {
  Dims out;
  for (int i = 0; i < c.num_args(); ++i) {
    if (!c.has(i)) continue;
    if (!c.rank_known(i)) return std::nullopt;
    out = broadcast_dims(c, out, c.dims(i));
  }
  return out;
}

}  // namespace symtile
