// Facts::simplify: a simpler expression of the user's own symbols, equal under the facts.
#include "symtile/shape/closure.h"
#include "symtile/shape/dim_node.h"
#include "symtile/shape/prover.h"

namespace symtile {
namespace {

class Simplifier {
 public:
  explicit Simplifier(const Closure& closure) : closure_(closure) {}

  DimExpr simplify(const DimExpr& whole) {
    DimExpr e = whole.substitute(closure_.equal());
    for (int round = 0; round < 3 && DimBuilder::has_opaque(e); ++round) {
      DimExpr next = visit(e);
      if (next == e) break;
      e = std::move(next);
    }
    return e;
  }

 private:
  DimExpr visit(const DimExpr& e) {
    if (!DimBuilder::has_opaque(e)) return e;
    DimExpr total = 0;
    for (const DimTerm& t : e.terms()) {
      DimExpr value = t.coefficient;
      for (const auto& [atom, power] : t.factors) {
        const DimExpr factor =
            atom.kind == DimAtom::Kind::symbol
                ? DimBuilder::atom(atom)
                : visit_opaque(atom.kind, visit(atom.args[0]), visit(atom.args[1]));
        for (int i = 0; i < power; ++i) value *= factor;
      }
      total += value;
    }
    return multiply_out(total);
  }

  DimExpr visit_opaque(DimAtom::Kind kind, const DimExpr& x, const DimExpr& y) {
    if (const auto c = y.as_const(); c == 0) return DimBuilder::apply(kind, x, y);
    const DimExpr applied = DimBuilder::apply(kind, x, y);
    const DimAtom* atom = as_atom(applied);
    if (atom == nullptr || atom->kind != kind) return applied;
    const DimExpr& a = atom->args[0];
    const DimExpr& b = atom->args[1];
    switch (kind) {
      case DimAtom::Kind::min:
        if (proves_le(a, b)) return a;
        if (proves_le(b, a)) return b;
        return applied;
      case DimAtom::Kind::max:
        if (proves_le(a, b)) return b;
        if (proves_le(b, a)) return a;
        return applied;
      case DimAtom::Kind::floordiv: {
        if (closure_.nonzero(closure_.reduce(b))) {
          if (auto constant = known_value(applied)) return *constant;
          if (is_below(a, b)) return DimExpr(0);
          if (const auto c = b.as_const(); c && *c > 0) {
            // A known remainder r: a // c = (a - r) // c, which is exact.
            const auto r = closure_.remainder(closure_.reduce(a), *c);
            if (r && *r != 0) return floordiv(a - *r, b);
          }
          if (!b.is_const()) {
            if (auto simpler = closure_.divide_symbolically(a, b)) return *simpler;
          }
        }
        return applied;
      }
      default: {
        if (!closure_.nonzero(closure_.reduce(b))) return applied;
        if (auto constant = known_value(applied)) return *constant;
        if (is_below(a, b)) return a;
        if (!b.is_const()) {
          // a % b = a - b*(a // b), worth it when the quotient is no longer a division
          const auto quotient = closure_.divide_symbolically(a, b);
          if (quotient && !DimBuilder::has_opaque(*quotient)) return a - *quotient * b;
        }
        return applied;
      }
    }
  }

  // c*k*(x // c) = k*x where c provably divides x.
  DimExpr multiply_out(const DimExpr& e) {
    if (!DimBuilder::has_opaque(e)) return e;
    DimExpr total = 0;
    bool changed = false;
    for (const DimTerm& t : e.terms()) {
      DimExpr value = DimBuilder::term(t.coefficient, t.factors);
      for (const auto& [atom, power] : t.factors) {
        if (atom.kind != DimAtom::Kind::floordiv) continue;
        const auto c = atom.args[1].as_const();
        if (!c || t.coefficient % *c != 0) continue;
        if (!closure_.divisible(closure_.reduce(atom.args[0]), *c)) continue;
        const auto rest = divide_factors(t.factors, {{atom, 1}});
        value = DimBuilder::term(t.coefficient / *c, *rest) * atom.args[0];
        changed = true;
        break;
      }
      total += value;
    }
    return changed ? total : e;
  }

  std::optional<DimExpr> known_value(const DimExpr& e) {
    const DimExpr reduced = closure_.reduce(e);
    if (const auto value = reduced.as_const()) return DimExpr(*value);
    const Interval i = closure_.interval(reduced);
    if (i.low && i.high && *i.low == *i.high && fits_int64(*i.low)) {
      return DimExpr(static_cast<int64_t>(*i.low));
    }
    const Interval direct = closure_.interval(e);
    if (direct.low && direct.high && *direct.low == *direct.high && fits_int64(*direct.low)) {
      return DimExpr(static_cast<int64_t>(*direct.low));
    }
    if (const DimAtom* mod = as_opaque(e, DimAtom::Kind::floormod)) {
      const auto c = mod->args[1].as_const();
      if (!c || *c <= 0) return std::nullopt;
      if (const auto r = closure_.remainder(closure_.reduce(mod->args[0]), *c)) return DimExpr(*r);
      if (closure_.divisible(closure_.reduce(mod->args[0]), *c)) return DimExpr(0);
    }
    return std::nullopt;
  }

  bool proves_le(const DimExpr& a, const DimExpr& b) {
    return Prover(closure_).nonnegative(closure_.reduce(b - a));
  }

  // 0 <= a < b
  bool is_below(const DimExpr& a, const DimExpr& b) {
    return proves_le(a + 1, b) && proves_le(DimExpr(0), a);
  }

  const Closure& closure_;
};

}  // namespace

DimExpr Facts::simplify(const DimExpr& a) const {
  if (a.is_unknown() || a.is_const()) return a;
  try {
    const auto known = closure();
    if (auto simple = known->known_simple().find(a)) return *simple;
    return known->known_simple().keep(a, Simplifier(*known).simplify(a));
  } catch (const DiagnosticError&) {
    return a;  // an intermediate step overflowed; the expression itself is still right
  }
}

}  // namespace symtile
