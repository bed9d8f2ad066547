// Rewriting, substitution and evaluation of DimExpr.
#include <algorithm>

#include "symtile/shape/dim_node.h"

namespace symtile {

// ---------------------------------------------------------------------------- rewriting

DimExpr DimBuilder::opaque(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b) {
  return atom(DimAtom{kind, {}, {a, b}});
}

DimExpr DimBuilder::apply(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b) {
  switch (kind) {
    case DimAtom::Kind::floordiv:
      return floordiv(a, b);
    case DimAtom::Kind::floormod:
      return floormod(a, b);
    case DimAtom::Kind::min:
      return min(a, b);
    case DimAtom::Kind::max:
      return max(a, b);
    case DimAtom::Kind::symbol:
      break;
  }
  SYMTILE_UNREACHABLE("a symbol has no operands");
}

DimExpr DimBuilder::rewrite(const DimExpr& e, const AtomRewrite& rewrite_atom) {
  if (e.is_unknown()) return e;
  bool changed = false;
  DimExpr total = 0;
  std::vector<DimTerm> unchanged;
  for (const DimTerm& t : e.terms()) {
    bool term_changed = false;
    DimExpr value = t.coefficient;
    for (const auto& [atom, power] : t.factors) {
      DimExpr factor = DimBuilder::atom(atom);
      if (atom.kind != DimAtom::Kind::symbol) {
        const DimExpr a = rewrite(atom.args[0], rewrite_atom);
        const DimExpr b = rewrite(atom.args[1], rewrite_atom);
        if (!DimExpr::same(a, atom.args[0]) || !DimExpr::same(b, atom.args[1])) {
          factor = apply(atom.kind, a, b);
          term_changed = true;
        }
      }
      if (const DimAtom* now = as_atom(factor)) {
        if (auto replacement = rewrite_atom(*now)) {
          factor = *std::move(replacement);
          term_changed = true;
        }
      }
      for (int i = 0; i < power; ++i) value *= factor;
    }
    if (term_changed) {
      changed = true;
      total += value;
    } else {
      unchanged.push_back(t);
    }
  }
  if (!changed) return e;
  return total + sorted_sum(std::move(unchanged));
}

DimExpr DimBuilder::replace(const DimExpr& e, const DimAtom& from, const DimExpr& to) {
  return rewrite(e, [&](const DimAtom& atom) -> std::optional<DimExpr> {
    if (DimAtom::compare(atom, from) != 0) return std::nullopt;
    return to;
  });
}

DimExpr DimExpr::substitute(const DimSubstitution& map) const {
  uint64_t mask = 0;
  for (const auto& [name, value] : map) mask |= DimBuilder::symbol_bit(name);
  if ((mask & node_->symbol_mask) == 0) return *this;
  std::function<DimExpr(const DimExpr&)> go = [&](const DimExpr& e) -> DimExpr {
    if (e.is_unknown() || (mask & e.node_->symbol_mask) == 0) return e;
    DimExpr total = 0;
    for (const DimTerm& t : e.terms()) {
      DimExpr value = t.coefficient;
      for (const auto& [atom, power] : t.factors) {
        DimExpr factor;
        if (atom.kind == DimAtom::Kind::symbol) {
          const auto it = map.find(atom.name);
          factor = it == map.end() ? DimBuilder::atom(atom) : it->second;
        } else {
          factor = DimBuilder::apply(atom.kind, go(atom.args[0]), go(atom.args[1]));
        }
        for (int i = 0; i < power; ++i) value *= factor;
      }
      total += value;
    }
    return total;
  };
  return go(*this);
}

// ---------------------------------------------------------------------------- evaluation

int64_t DimExpr::evaluate(const DimValues& values) const {
  if (is_unknown()) fail(DiagId::unknown_name, {}, "the dimension '?' has no value");
  const auto overflow = [&]() {
    fail(DiagId::dimension_overflow, {}, "the value of {} does not fit in 64 bits", str());
  };
  Wide total = 0;
  for (const DimTerm& t : node_->terms) {
    Wide value = t.coefficient;
    for (const auto& [atom, power] : t.factors) {
      int64_t factor = 0;
      if (atom.kind == DimAtom::Kind::symbol) {
        const auto it = values.find(atom.name);
        if (it == values.end()) {
          fail(DiagId::unknown_name, {}, "no value for the dimension '{}' of {}", atom.name, str());
        }
        factor = it->second;
      } else {
        const int64_t a = atom.args[0].evaluate(values);
        const int64_t b = atom.args[1].evaluate(values);
        switch (atom.kind) {
          case DimAtom::Kind::floordiv:
            factor = checked_floordiv(a, b);
            break;
          case DimAtom::Kind::floormod:
            factor = checked_floormod(a, b);
            break;
          case DimAtom::Kind::min:
            factor = std::min(a, b);
            break;
          default:
            factor = std::max(a, b);
            break;
        }
      }
      for (int i = 0; i < power; ++i) {
        if (__builtin_mul_overflow(value, Wide{factor}, &value)) overflow();
      }
    }
    if (__builtin_add_overflow(total, value, &total)) overflow();
  }
  if (!fits_int64(total)) overflow();
  return static_cast<int64_t>(total);
}

}  // namespace symtile
