// min and max in canonical form: flattened, sorted, without operands that never decide.
#include <algorithm>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

constexpr size_t kMaxOperands = 256;

// Also through a constant: max(max(a, b) + 1, c) has the operands a + 1, b + 1, c.
void flatten(DimAtom::Kind kind, const DimExpr& e, int64_t shift, std::vector<DimExpr>& out) {
  const int64_t constant = constant_part(e);
  if (e.terms().size() == (constant != 0 ? 2u : 1u)) {
    const DimExpr varying = constant != 0 ? DimBuilder::sorted_sum({e.terms()[0]}) : e;
    if (const DimAtom* atom = as_opaque(varying, kind)) {
      flatten(kind, atom->args[0], checked_add(shift, constant), out);
      flatten(kind, atom->args[1], checked_add(shift, constant), out);
      return;
    }
  }
  out.push_back(e + shift);
}

// max(a, min(a, b)) = a and max(a + 1, min(a, b)) = a + 1, and the dual.
bool absorbed(DimAtom::Kind other, const DimExpr& operand, const std::vector<DimExpr>& operands) {
  std::vector<DimExpr> inner;
  flatten(other, operand, 0, inner);
  if (inner.size() < 2) return false;
  const bool outer_is_max = other == DimAtom::Kind::min;
  return std::any_of(operands.begin(), operands.end(), [&](const DimExpr& e) {
    return std::any_of(inner.begin(), inner.end(), [&](const DimExpr& i) {
      const auto difference = constant_difference(e, i);
      return difference && (outer_is_max ? *difference >= 0 : *difference <= 0);
    });
  });
}

DimExpr extremum(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b) {
  if (a.is_unknown() || b.is_unknown()) return DimExpr::unknown();
  const bool is_max = kind == DimAtom::Kind::max;
  if (const auto difference = constant_difference(a, b)) {
    return (is_max ? *difference >= 0 : *difference <= 0) ? a : b;
  }
  std::vector<DimExpr> all;
  flatten(kind, a, 0, all);
  flatten(kind, b, 0, all);
  if (all.size() > kMaxOperands) {
    fail(DiagId::too_large, {}, "a minimum or maximum of {} dimensions; at most {}", all.size(),
         kMaxOperands);
  }
  std::vector<DimExpr> kept;
  for (const DimExpr& e : all) {
    bool dropped = false;
    for (DimExpr& k : kept) {
      if (const auto difference = constant_difference(e, k)) {
        if (is_max ? *difference > 0 : *difference < 0) k = e;
        dropped = true;
        break;
      }
    }
    if (!dropped) kept.push_back(e);
  }
  const DimAtom::Kind other = is_max ? DimAtom::Kind::min : DimAtom::Kind::max;
  std::vector<DimExpr> operands;
  for (const DimExpr& e : kept) {
    if (!absorbed(other, e, kept)) operands.push_back(e);
  }
  // max(n + 1, m + 1) = max(n, m) + 1
  const int64_t common = constant_part(operands[0]);
  const bool shared = operands.size() > 1 && common != 0 &&
                      std::all_of(operands.begin(), operands.end(), [common](const DimExpr& e) {
                        return constant_part(e) == common;
                      });
  if (shared) {
    for (DimExpr& e : operands) e -= common;
  }
  std::sort(operands.begin(), operands.end());
  DimExpr out = operands.back();
  for (size_t i = operands.size() - 1; i-- > 0;) out = DimBuilder::opaque(kind, operands[i], out);
  return shared ? out + common : out;
}

}  // namespace

DimExpr min(const DimExpr& a, const DimExpr& b) { return extremum(DimAtom::Kind::min, a, b); }
DimExpr max(const DimExpr& a, const DimExpr& b) { return extremum(DimAtom::Kind::max, a, b); }

}  // namespace symtile
